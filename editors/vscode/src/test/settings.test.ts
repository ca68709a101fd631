import assert from "node:assert/strict";
import { test } from "node:test";

import { toggled, whyNotAsked } from "../pure/gate";
import { settingsToSend } from "../pure/settings";

const NAMES = ["completion.max_tokens", "exclude.globs", "cache.results"];

test("only what is set is sent, so that config.toml counts for the rest", () => {
  const sent = settingsToSend(NAMES, (name) => (name === "cache.results" ? { globalValue: false } : {}), true);
  assert.deepEqual(sent, { cache: { results: false } });
});

test("a trusted workspace wins, another has no say", () => {
  const inspect = () => ({ globalValue: ["a"], workspaceValue: [] });
  assert.deepEqual(settingsToSend(["exclude.globs"], inspect, true), { exclude: { globs: [] } });
  assert.deepEqual(settingsToSend(["exclude.globs"], inspect, false), { exclude: { globs: ["a"] } });
});

test("what is turned off is not asked, and why is said", () => {
  const on = { enabled: true, disabledLanguages: ["markdown"], disabledFiles: ["file:///x.py"] };
  assert.equal(whyNotAsked(on, "python", "file:///y.py"), "");
  assert.match(whyNotAsked(on, "markdown", "file:///y.md"), /for markdown/);
  assert.match(whyNotAsked(on, "python", "file:///x.py"), /in this file/);
  assert.match(whyNotAsked({ ...on, enabled: false }, "python", "file:///y.py"), /turned off/);
});

test("toggling twice changes nothing", () => {
  assert.deepEqual(toggled(["a"], "b"), ["a", "b"]);
  assert.deepEqual(toggled(["a", "b"], "b"), ["a"]);
});
