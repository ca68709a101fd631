// Closers that an editor inserts while their openers are typed.

const PAIRS = ["()", "[]", "{}", "<>", '""', "''", "``"];
const QUOTES = "\"'`";

/** Whether a text is an opener and its closer, and nothing else. */
export function isPair(text: string): boolean {
  return PAIRS.includes(text);
}

/**
 * Where a text closes, from `start` on, what was opened before that, by whatever closer; -1 if nowhere. `like`: the
 * closer that is expected, since a quote means that the text begins inside a string, and `>` is none elsewhere.
 *
 * The daemon's own: completiond/complete/closers.py.
 */
export function firstCloser(text: string, like: string, start: number): number {
  if (QUOTES.includes(like)) {
    return endOfString(text, start, like);
  }
  const openers = like === ">" ? "([{<" : "([{";
  const closers = like === ">" ? ")]}>" : ")]}";
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at);
    const end = QUOTES.includes(char) ? endOfString(text, at + 1, char) : -1;
    if (end >= 0 && !text.slice(at, end).includes("\n")) {
      at = end; // else it is an apostrophe
    } else if (openers.includes(char)) {
      depth++;
    } else if (closers.includes(char) && depth-- === 0) {
      return at;
    }
  }
  return -1;
}

function endOfString(text: string, start: number, quote: string): number {
  let at = start;
  while (at < text.length && text.charAt(at) !== quote) {
    at += text.charAt(at) === "\\" ? 2 : 1;
  }
  return at < text.length ? at : -1;
}
