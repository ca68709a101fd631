// What the last answers took, how drafts did, and the memory: from /api/status.

import { Chart, barMarks, curveMarks, topOf } from "/page/chart.js";
import { classOf, nameOf } from "/page/sources.js";

const ROOM = 60;
const MAX_DEPTH = 16;
const SERVED = { engine: "written", running: "gone on with", cache: "kept" };
const ANSWERS = { left: "older", right: "newest" };

export class Charts {
  #between = new Chart("Time between tokens");
  #first = new Chart("Time to the first token");
  #right = new Chart("Right guesses, by place in the draft");
  #cached = new Chart("What was not read again");
  #memory = new Chart("Memory of the daemon");
  #memory_mb = [];
  #newest = 0;

  constructor(place) {
    place.append(...[this.#between, this.#first, this.#right, this.#cached, this.#memory].map((chart) => chart.element));
  }

  /** Draw what /api/status says now. */
  update(status) {
    const answers = status.answers.slice(-ROOM);
    const written = answers.filter((one) => one.ms_per_token > 0 && one.served_from !== "cache");
    this.#bars(this.#between, written, (one) => one.ms_per_token, "the mean of an answer, of those with two passes or more");
    this.#bars(this.#first, answers, (one) => one.ttft_ms, "blue: written, orange: gone on with, green: a kept answer");
    this.#acceptance(status.acceptance);
    this.#hits(answers);
    this.#rss(status.rss_mb);
    this.#newest = answers.at(-1)?.number ?? 0;
  }

  #bars(chart, answers, valueOf, note) {
    const values = answers.map(valueOf);
    const summary = values.length ? `newest ${ms(values.at(-1))}, median ${ms(median(values))} of ${values.length}; ${note}` : "none yet";
    const top = topOf(values.length ? values : [1]);
    const bars = answers.map((one) => ({ value: valueOf(one), kind: `served-${one.served_from}`, isNew: one.number > this.#newest }));
    const rows = answers.map((one) => [one.number, SERVED[one.served_from], valueOf(one).toFixed(1), one.tokens]).reverse();
    chart.show(summary, { top, unit: "ms", ...ANSWERS }, barMarks(bars, top, ROOM), ["answer", "<how", "ms", "tokens"], rows);
  }

  #acceptance(counts) {
    const sources = Map.groupBy ? Map.groupBy(counts, (one) => one.source) : grouped(counts);
    const marks = [];
    const rows = [];
    const parts = [];
    for (const [source, several] of sources) {
      const sum = (name, depth) => several.reduce((total, one) => total + (one[name][depth] ?? 0), 0);
      const depths = [...Array(MAX_DEPTH).keys()].filter((depth) => sum("tried", depth) > 0);
      const shares = depths.map((depth) => (100 * sum("accepted", depth)) / sum("tried", depth));
      if (!depths.length) continue;
      marks.push(...curveMarks(shares, 100, MAX_DEPTH, classOf(source)));
      rows.push(...depths.map((depth, index) => [nameOf(source), depth + 1, shares[index].toFixed(0), sum("tried", depth)]));
      parts.push(`${nameOf(source)} ${shares[0].toFixed(0)} % of ${sum("tried", 0)} first guesses`);
    }
    const axis = { top: 100, unit: "%", left: "first guess", right: `${MAX_DEPTH}th guess` };
    this.#right.show(parts.join(", ") || "no draft was checked yet", axis, marks, ["<source", "place", "% right", "checked"], rows);
  }

  #hits(answers) {
    const shareOf = (one) => (one.served_from === "cache" ? 100 : (100 * one.cached_tokens) / Math.max(1, one.prompt_tokens));
    const kept = answers.filter((one) => one.served_from === "cache").length;
    const gone = answers.filter((one) => one.served_from === "running").length;
    const read = answers.filter((one) => one.served_from === "engine");
    const total = (name) => read.reduce((sum, one) => sum + one[name], 0);
    const share = read.length ? `, ${((100 * total("cached_tokens")) / Math.max(1, total("prompt_tokens"))).toFixed(0)} % of the others' prompts was cached` : "";
    const summary = answers.length ? `of ${answers.length} answers ${kept} were kept ones, ${gone} were gone on with${share}` : "none yet";
    const bars = answers.map((one) => ({ value: shareOf(one), kind: `served-${one.served_from}`, isNew: one.number > this.#newest }));
    const rows = answers.map((one) => [one.number, SERVED[one.served_from], shareOf(one).toFixed(0), one.prompt_tokens]).reverse();
    this.#cached.show(summary, { top: 100, unit: "%", ...ANSWERS }, barMarks(bars, 100, ROOM), ["answer", "<how", "%", "prompt"], rows);
  }

  #rss(rss_mb) {
    this.#memory_mb = [...this.#memory_mb, rss_mb].slice(-ROOM);
    const most = Math.max(...this.#memory_mb);
    const top = topOf([most]);
    const summary = `${rss_mb.toFixed(0)} MB now, ${most.toFixed(0)} MB at most while this page is open`;
    const rows = this.#memory_mb.map((value, index) => [index + 1, value.toFixed(1)]).reverse();
    const marks = curveMarks(this.#memory_mb, top, ROOM, "", ROOM - this.#memory_mb.length);
    this.#memory.show(summary, { top, unit: "MB", left: "older", right: "now" }, marks, ["look", "MB"], rows);
  }
}

const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

function grouped(counts) {
  const groups = new Map();
  for (const one of counts) groups.set(one.source, [...(groups.get(one.source) ?? []), one]);
  return groups;
}
