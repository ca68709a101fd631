import assert from "node:assert/strict";
import { test } from "node:test";

import { Suggestion } from "../pure/suggestion";

const ASKED = { uri: "file:///a.py", version: 7, position: { line: 2, character: 4 } };

function typed(suggestion: Suggestion, text: string): void {
  suggestion.follow([{ offset: suggestion.cursor, length: 0, text }], suggestion.version + 1);
}

test("partial answers grow the text, and late or shorter ones do not take any back", () => {
  const one = new Suggestion(ASKED, 40);
  assert.equal(one.grow("ret"), true);
  assert.equal(one.grow("return x"), true);
  assert.equal(one.grow("return"), false);
  assert.equal(one.grow("raise KeyError(name)"), false);
  assert.equal(one.text, "return x");
});

test("the whole answer can only be longer than what was shown", () => {
  const one = new Suggestion(ASKED, 40);
  one.grow("return x");
  assert.equal(one.finish(["return x + y", "return z"]), true);
  assert.deepEqual(one.rests, ["return x + y", "return z"]);
  const other = new Suggestion(ASKED, 40);
  other.grow("return x");
  assert.equal(other.finish([]), false);
  assert.equal(other.rest, "return x");
});

test("it is typed along, key by key and word by word, while it grows", () => {
  const one = new Suggestion(ASKED, 40);
  one.grow("return x");
  typed(one, "r");
  typed(one, "eturn ");
  assert.equal(one.rest, "x");
  assert.equal(one.cursor, 47);
  one.grow("return x + y");
  assert.equal(one.rest, "x + y");
  assert.ok(one.fits(ASKED.uri, 9, 47));
});

test("it is dropped by another letter, an edit elsewhere, or several edits at once", () => {
  for (const changes of [
    [{ offset: 40, length: 0, text: "q" }],
    [{ offset: 3, length: 0, text: "r" }],
    [{ offset: 40, length: 1, text: "r" }],
    [
      { offset: 40, length: 0, text: "r" },
      { offset: 3, length: 0, text: "r" },
    ],
  ]) {
    const one = new Suggestion(ASKED, 40);
    one.grow("return x");
    one.follow(changes, 8);
    assert.equal(one.isDropped, true);
    assert.equal(one.fits(ASKED.uri, 8, one.cursor), false);
    assert.equal(one.grow("return x + y"), false);
  }
});

test("what was typed along can be taken back, but not more than that", () => {
  const one = new Suggestion(ASKED, 40);
  one.grow("return x");
  typed(one, "ret");
  one.follow([{ offset: 42, length: 1, text: "" }], 9);
  assert.equal(one.rest, "turn x");
  one.follow([{ offset: 39, length: 3, text: "" }], 10);
  assert.equal(one.isDropped, true);
});

test("alternatives that were not typed along are left out", () => {
  const one = new Suggestion(ASKED, 40);
  one.finish(["return x", "raise y", "ret"]);
  typed(one, "ret");
  assert.deepEqual(one.rests, ["urn x"]);
});

test("an answer to another version or place is not about it", () => {
  const one = new Suggestion(ASKED, 40);
  assert.ok(one.isAbout(ASKED));
  assert.ok(!one.isAbout({ ...ASKED, version: 6 }));
  assert.ok(!one.isAbout({ ...ASKED, position: { line: 2, character: 5 } }));
  assert.ok(!one.isAbout({ ...ASKED, uri: "file:///b.py" }));
});

test("who waits is told of the first text, of the end, or that it was dropped", async () => {
  const one = new Suggestion(ASKED, 40);
  const first = one.ready(false);
  const whole = one.ready(true);
  assert.ok(one.isAwaited);
  one.grow("x");
  await first;
  assert.ok(one.isAwaited);
  one.finish(["x"]);
  await whole;
  const other = new Suggestion(ASKED, 40);
  const never = other.ready(false);
  other.drop();
  await never;
});

test("what is known already is not taken back by a new answer", () => {
  const one = new Suggestion(ASKED, 40, "shown");
  assert.equal(one.grow("other"), false);
  assert.equal(one.finish(["something else", "shown differently"]), false);
  assert.deepEqual(one.rests, ["shown", "shown differently"]);
});

/** A key for which the editor inserts more behind the cursor, or takes something away there. */
function change(suggestion: Suggestion, text: string, length = 0, before = 0): void {
  suggestion.follow([{ offset: suggestion.cursor - before, length, text }], suggestion.version + 1);
}

test("where the editor closes what is typed, it goes on and takes the place of the closers", () => {
  const one = new Suggestion(ASKED, 40);
  one.finish(['f(a["k"], b) + c']);
  typed(one, "f");
  change(one, "()");
  assert.deepEqual([one.rest, one.replaces(one.rest), one.cursor], ['a["k"], b) + c', 1, 42]);
  typed(one, "a");
  change(one, "[]");
  change(one, '""');
  assert.deepEqual([one.rest, one.replaces(one.rest), one.cursor], ['k"], b) + c', 3, 45]);
  typed(one, "k");
  change(one, '"', 1); // typed over
  change(one, "]", 1);
  typed(one, ", b");
  assert.deepEqual([one.rest, one.replaces(one.rest)], [") + c", 1]);
  change(one, ")", 1);
  assert.deepEqual([one.rest, one.replaces(one.rest), one.isDropped], [" + c", 0, false]);
});

test("until it has the closers it goes in front of them", () => {
  const one = new Suggestion(ASKED, 40);
  one.grow("(");
  change(one, "()");
  one.grow("(f(a), b");
  assert.deepEqual([one.rest, one.replaces(one.rest)], ["f(a), b", 0]);
  one.grow("(f(a), b) + c");
  assert.equal(one.replaces(one.rest), 1);
  change(one, "f(a), b) + c", 1); // accepted
  assert.deepEqual([one.rest, one.isDropped], ["", false]);
});

test("a pair that is deleted is taken back, and half of one ends it", () => {
  const one = new Suggestion(ASKED, 40);
  one.finish(["(a)"]);
  change(one, "()");
  change(one, "", 2, 1);
  assert.deepEqual([one.rest, one.replaces(one.rest), one.cursor], ["(a)", 0, 40]);
  change(one, "()");
  typed(one, "a");
  change(one, "", 1, 1);
  assert.deepEqual([one.rest, one.replaces(one.rest)], ["a)", 1]);
  change(one, "", 1, 1);
  assert.equal(one.isDropped, true);
});

test("what closes something else ends it", () => {
  const one = new Suggestion(ASKED, 40);
  one.finish(["(a]"]);
  change(one, "()");
  assert.equal(one.isDropped, true);
  const other = new Suggestion(ASKED, 40);
  other.finish(["(a)"]);
  change(other, "[]");
  assert.equal(other.isDropped, true);
});

test("quotes, apostrophes and angle brackets", () => {
  const closed = (text: string, pair: string): number => {
    const one = new Suggestion(ASKED, 40);
    one.finish([pair.charAt(0) + text]);
    change(one, pair);
    return one.isDropped ? -1 : one.replaces(one.rest);
  };
  assert.equal(closed('a\\" b', '""'), 0); // escaped
  assert.equal(closed('a\\" b" + c', '""'), 1);
  assert.equal(closed("')', a) + b", "()"), 1);
  assert.equal(closed("')', a + b", "()"), 0);
  assert.equal(closed("don't) + b", "()"), 1);
  assert.equal(closed("a > b) + c", "()"), 1);
  assert.equal(closed("T> x", "<>"), 1);
  assert.equal(closed("Array<T>> x", "<>"), 1);
});
