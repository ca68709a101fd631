// Bundles the extension into one file, and the licences of what is bundled into another; with --test, the unit tests.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", format: "cjs", logLevel: "warning" };

if (process.argv.includes("--test")) {
  const tests = readdirSync("src/test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => `src/test/${name}`), outdir: "out", sourcemap: "inline" });
} else {
  const result = await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    external: ["vscode"],
    minify: true,
    metafile: true,
  });
  writeFileSync("dist/LICENSES.txt", licences(Object.keys(result.metafile.inputs)));
}

/** The licence of each package that one of `files` is from. */
function licences(files) {
  const folders = new Set(files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]));
  folders.delete(undefined);
  const texts = [...folders].sort().map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf-8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e(\.(md|txt))?$/i.test(one));
    if (file === undefined) {
      throw new Error(`${name} has no licence in its folder; find it before it is bundled`);
    }
    return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, "utf-8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
