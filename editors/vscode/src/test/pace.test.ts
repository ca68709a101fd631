import assert from "node:assert/strict";
import { test } from "node:test";

import { mayShowMore, waitMs } from "../pure/pace";
import { Suggestion } from "../pure/suggestion";

const URI = "file:///a.py";

function grown(): Suggestion {
  const one = new Suggestion({ uri: URI, version: 7, position: { line: 0, character: 4 } }, 4);
  one.grow("return x");
  return one;
}

const SHOWN = { version: 7, cursor: 4, length: 3 };
const VIEW = { uri: URI, version: 7, cursors: [4] };

test("more is shown where nothing has changed since", () => {
  assert.equal(mayShowMore(grown(), SHOWN, VIEW), true);
});

test("nothing is shown at another place, in another version or file, or with several cursors or a selection", () => {
  for (const view of [
    undefined,
    { ...VIEW, cursors: [5] },
    { ...VIEW, version: 8 },
    { ...VIEW, uri: "file:///b.py" },
    { ...VIEW, cursors: [4, 9] },
    { ...VIEW, cursors: [] },
  ]) {
    assert.equal(mayShowMore(grown(), SHOWN, view), false);
  }
});

test("what is not on the screen is not brought back, and what is all there is not shown again", () => {
  assert.equal(mayShowMore(grown(), undefined, VIEW), false);
  assert.equal(mayShowMore(grown(), { ...SHOWN, version: 6 }, VIEW), false);
  assert.equal(mayShowMore(grown(), { ...SHOWN, length: "return x".length }, VIEW), false);
  const dropped = grown();
  dropped.drop();
  assert.equal(mayShowMore(dropped, SHOWN, VIEW), false);
});

test("the wait is what is left of the pace", () => {
  assert.equal(waitMs(1000, 1010, 60), 50);
  assert.equal(waitMs(1000, 1100, 60), 0);
});
