import assert from "node:assert/strict";
import { test } from "node:test";

import { withModelName } from "../pure/toml";

test("a new file", () => {
  assert.equal(withModelName("", "tiny"), '[model]\nname = "tiny"\n');
});

test("a name is replaced in its table only, and comments stay", () => {
  const before = '# mine\n[model] # here\nthreads = 2\nname = "big"  # slow\n\n[x]\nname = "y"\n';
  const after = '# mine\n[model] # here\nthreads = 2\nname = "tiny"  # slow\n\n[x]\nname = "y"\n';
  assert.equal(withModelName(before, "tiny"), after);
});

test("a table without a name, and a file without the table, line ends as they were", () => {
  assert.equal(withModelName("[model]\r\nthreads = 2\r\n", "t"), '[model]\r\nname = "t"\r\nthreads = 2\r\n');
  assert.equal(withModelName("[a]\nb = 1\n\n\n", "t"), '[a]\nb = 1\n\n[model]\nname = "t"\n');
});

test("what is written in another way is left to the user", () => {
  for (const text of [
    'model.name = "x"\n',
    'model = { name = "x" }\n',
    '["model"]\nname = "x"\n',
    '[model]\nname = """x"""\n',
    '[model]\nname = "a\\"b"\n',
  ]) {
    assert.equal(withModelName(text, "t"), undefined, text);
  }
});
