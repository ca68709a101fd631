// What was drafted in each pass of the model, and what came of it.

import { make, table } from "/page/dom.js";
import { nameOf } from "/page/sources.js";

const COLUMNS = ["pass", "<from", "<found in", "agreed before", "proposed", "checked", "expected", "accepted", "ms"];

/** What to show of an answer that was explained. */
export function explained(completion) {
  const rows = completion.decisions.map((one, index) => [
    index + 1, one.source === "none" ? "no draft" : nameOf(one.source), one.origin, one.match, one.proposed, one.checked,
    one.expected.toFixed(1), one.accepted, one.pass_ms.toFixed(0),
  ]);
  if (!rows.length) return make("p", {}, "There was no pass of the model on this machine to explain.");
  const caption = `${figuresOf(completion)}. The model writes one token in each pass besides those it accepts.`;
  return table(caption, COLUMNS, rows);
}

/** One line about an answer. */
export function figuresOf(completion) {
  const { token_ids, passes, ttft_ms, ms_per_token, by_drafter, prompt_tokens, cached_tokens, served_from } = completion;
  const drafts = Object.entries(by_drafter).map(([name, one]) => `${nameOf(name)} ${one.accepted}/${one.drafted}`);
  const first = `${token_ids.length} tokens in ${passes} passes · first after ${ttft_ms.toFixed(0)} ms`;
  if (served_from === "cache") return `a kept answer, after ${ttft_ms.toFixed(0)} ms and without a pass of the model`;
  const read = `prompt ${prompt_tokens}, ${cached_tokens} of it cached`;
  return [first, `${ms_per_token.toFixed(1)} ms/token`, ...drafts, read].join(" · ");
}
