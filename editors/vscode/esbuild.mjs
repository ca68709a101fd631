// Bundles the extension into one file; with --test, the unit tests into out/.
import { readdirSync } from "node:fs";
import { build } from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", format: "cjs", logLevel: "warning" };

if (process.argv.includes("--test")) {
  const tests = readdirSync("src/test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => `src/test/${name}`), outdir: "out", sourcemap: "inline" });
} else {
  await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    external: ["vscode"],
    minify: true,
    legalComments: "linked", // the licences of what is bundled stay, in a file beside it
  });
}
