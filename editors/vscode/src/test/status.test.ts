import assert from "node:assert/strict";
import { test } from "node:test";

import { itemFor } from "../pure/bar";
import { type Status, statusPage, whyPage } from "../pure/status";

const REQUEST = {
  ago_s: 3.2,
  client: "Code",
  document: "src/a.py",
  line: 12,
  column: 8,
  lines: 0,
  characters: 0,
  served_from: "engine",
  took_ms: 41.4,
  reason: "confidence",
  meaning: "The model was less sure than it should be.",
};

const STATUS: Status = {
  phase: "ready",
  progress: 1,
  detail: "",
  model: "tiny",
  device: "cpu",
  dtype: "int8",
  version: "0.1.0",
  pid: 7,
  uptime_s: 3700,
  rss_mb: 1600.4,
  clients: 2,
  problems: ["config.toml:3: no such setting"],
  given_up: [],
  counters: { requests: 3, answered: 1 },
  recent: [{ ...REQUEST, document: "b.py", reason: "eos" }, REQUEST],
};

test("why: the last request for this file, in words", () => {
  const page = whyPage(STATUS, { file: "/repo/src/a.py", notAsked: "" });
  assert.match(page, /\*\*confidence\*\*\. The model was less sure/);
  assert.match(page, /3 s ago · Code · src\/a\.py 12:8 · nothing · written by the model · 41 ms/);
  assert.doesNotMatch(page, /b\.py/);
  assert.match(page, /config\.toml:3/);
});

test("why: a file whose name only ends alike is another one", () => {
  assert.match(whyPage(STATUS, { file: "/repo/src/bb.py", notAsked: "" }), /was not asked/);
});

test("why: turned off here, or not ready", () => {
  assert.match(whyPage(STATUS, { file: "/repo/src/a.py", notAsked: "Off for python." }), /Off for python\./);
  const failed: Status = { ...STATUS, phase: "failed", detail: "no such model" };
  assert.match(whyPage(failed, { file: "/repo/src/a.py", notAsked: "" }), /failed\): no such model/);
});

test("the status page has what a bug report needs", () => {
  const page = statusPage(STATUS, "/usr/bin/completiond");
  for (const text of ["tiny", "cpu, int8", "1 h 1 min, 1600 MB", "3 requests, 1 answered", "/usr/bin/completiond"]) {
    assert.ok(page.includes(text), text);
  }
});

test("the bar: an error is marked and says why; off is shown only while all is well", () => {
  assert.deepEqual(itemFor({ kind: "error", reason: "no model" }, false, "off"), {
    text: "$(error) completiond",
    tooltip: "no model",
    isError: true,
  });
  assert.match(itemFor({ kind: "loading", percent: 40, detail: "x" }, false, "").text, /40 %/);
  assert.match(itemFor({ kind: "ready", detail: "x" }, false, "off here").tooltip, /off here/);
  assert.match(itemFor({ kind: "ready", detail: "x" }, true, "").text, /spin/);
});
