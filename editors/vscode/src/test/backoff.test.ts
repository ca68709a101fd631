import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff } from "../pure/backoff";

test("waits double, up to a minute", () => {
  const backoff = new Backoff();
  const waits = Array.from({ length: 10 }, () => backoff.ended(10));
  assert.deepEqual(waits.slice(0, 4), [500, 1000, 2000, 4000]);
  assert.equal(waits[9], 60_000);
});

test("a run that lasted ends the row", () => {
  const backoff = new Backoff();
  backoff.ended(10);
  backoff.ended(10);
  assert.equal(backoff.ended(30_000), 500);
});

test("one message in a row of failures", () => {
  const backoff = new Backoff();
  const told = Array.from({ length: 8 }, () => {
    backoff.ended(10);
    return backoff.isWorthAMessage;
  });
  assert.equal(told.filter(Boolean).length, 1);
  backoff.reset();
  assert.equal(backoff.ended(10), 500);
});
