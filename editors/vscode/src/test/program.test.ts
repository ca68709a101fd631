import assert from "node:assert/strict";
import { test } from "node:test";

import { candidates, findProgram, type Surroundings } from "../pure/program";

const around: Surroundings = {
  setting: "",
  searchPath: "/usr/bin:bin::/opt/x",
  home: "/home/me",
  folders: ["/repo"],
  isTrusted: true,
};

test("PATH first, then the home folder, then a trusted folder", () => {
  assert.deepEqual(candidates(around), [
    "/usr/bin/completiond",
    "/opt/x/completiond",
    "/home/me/.local/bin/completiond",
    "/repo/.venv/bin/completiond",
  ]);
});

test("nothing is started from a folder that is not trusted, nor from a relative PATH", () => {
  const files = candidates({ ...around, isTrusted: false });
  assert.ok(files.every((file) => !file.startsWith("/repo") && file.startsWith("/")));
});

test("a setting is the only place, and ~ is the home folder", async () => {
  const set = { ...around, setting: "~/c/completiond" };
  assert.deepEqual(candidates(set), ["/home/me/c/completiond"]);
  assert.equal(await findProgram(set, (file) => Promise.resolve(file.startsWith("/usr"))), undefined);
});

test("a relative setting is not looked for in the folder that is open", async () => {
  const set = { ...around, setting: "bin/completiond" };
  assert.equal(await findProgram(set, () => Promise.resolve(true)), undefined);
});

test("the first that can be run is taken", async () => {
  const found = await findProgram(around, (file) => Promise.resolve(file.startsWith("/opt") || file.includes(".venv")));
  assert.equal(found, "/opt/x/completiond");
});
