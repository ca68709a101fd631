// An answer at a place, as far as it has come, and what of it is still to be typed.

/** The text of spans. */
export const textOf = (spans) => spans.map((span) => span.text).join("");

/** `spans` without the first `count` characters. */
export function without(spans, count) {
  const rest = [];
  for (const span of spans) {
    if (span.text.length > count) rest.push({ ...span, text: span.text.slice(count) });
    count = Math.max(0, count - span.text.length);
  }
  return rest;
}

/** The first word of a text, with the blanks before it; a run of signs is a word. */
export const firstWord = (text) => text.match(/^\s*(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+|$)/u)?.[0] || text;

/** Several different answers between the same texts; the first is the likeliest. */
export class Answer {
  constructor(before, after) {
    this.before = before;
    this.after = after;
    this.choices = []; // spans of each
    this.completions = [];
    this.choice = 0;
  }

  /** Take in an event of /api/complete. */
  take(event) {
    const { number, spans, completion } = event;
    if (completion) {
      this.completions[number] = completion;
      if (!this.choices[number]?.length) this.choices[number] = completion.spans;
    } else {
      this.choices[number] = [...(this.choices[number] ?? []), ...spans];
    }
  }

  /** What of the shown choice is to be typed at the cursor between these texts; null where it does not fit there. */
  rest(before, after) {
    if (after !== this.after || !before.startsWith(this.before)) return null;
    const spans = this.choices[this.choice] ?? [];
    const typed = before.slice(this.before.length);
    const text = textOf(spans);
    if (text.startsWith(typed)) return without(spans, typed.length);
    return !this.completions[this.choice] && typed.startsWith(text) ? [] : null; // it is not that far yet
  }
}
