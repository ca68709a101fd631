// Makes completiond-VERSION.vsix: a zip with the manifest that VS Code reads. vsce does the same and needs a newer Node.
import { readFileSync, writeFileSync } from "node:fs";
import { zipSync } from "fflate";

const FILES = [
  "package.json",
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "icon.png",
  "dist/extension.js",
  "dist/LICENSES.txt",
];
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (character) => ENTITIES[character]);

const about = JSON.parse(readFileSync("package.json", "utf-8"));
const schema = "http://schemas.microsoft.com/developer/vsx-schema/2011";
const property = (id, value) => `<Property Id="Microsoft.VisualStudio.${id}" Value="${escaped(value)}"/>`;
const asset = (type, path) =>
  `<Asset Type="Microsoft.VisualStudio.${type}" Path="extension/${path}" Addressable="true"/>`;
const manifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="${schema}">
<Metadata>
<Identity Language="en-US" Id="${about.name}" Version="${about.version}" Publisher="${about.publisher}"/>
<DisplayName>${escaped(about.displayName)}</DisplayName>
<Description xml:space="preserve">${escaped(about.description)}</Description>
<Tags>${escaped(about.keywords.join(","))}</Tags>
<Categories>${escaped(about.categories.join(","))}</Categories>
<Properties>
${property("Code.Engine", about.engines.vscode)}
${property("Code.ExtensionKind", about.extensionKind.join(","))}
</Properties>
<License>extension/LICENSE</License>
<Icon>extension/${about.icon}</Icon>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
${asset("Code.Manifest", "package.json")}
${asset("Services.Content.Details", "README.md")}
${asset("Services.Content.Changelog", "CHANGELOG.md")}
${asset("Services.Content.License", "LICENSE")}
${asset("Services.Icons.Default", about.icon)}
</Assets>
</PackageManifest>
`;
const TYPES = {
  json: "application/json",
  js: "application/javascript",
  md: "text/markdown",
  png: "image/png",
  txt: "text/plain",
  vsixmanifest: "text/xml",
};
const defaults = Object.entries(TYPES).map(([end, type]) => `<Default Extension="${end}" ContentType="${type}"/>`);
const types = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${defaults.join("")}<Override PartName="/extension/LICENSE" ContentType="text/plain"/></Types>
`;

const entries = { "extension.vsixmanifest": Buffer.from(manifest), "[Content_Types].xml": Buffer.from(types) };
for (const file of FILES) {
  entries[`extension/${file}`] = readFileSync(file);
}
const target = `completiond-${about.version}.vsix`;
// A fixed time, so that the same sources make the same file.
writeFileSync(target, zipSync(entries, { level: 9, mtime: new Date(1980, 0, 1) }));
console.log(`${target}: ${Object.keys(entries).length} files`);
