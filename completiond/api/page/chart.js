// Small drawings. Each has its figures in words and as a table, too.

import { draw, make, table } from "/page/dom.js";

const WIDTH = 320;
const HEIGHT = 120;
const LEFT = 34;
const TOP = 8;
const BOTTOM = 102;
const RIGHT = 316;

export class Chart {
  #title;
  #summary = make("p");
  #drawing = make("div");
  #numbers = make("div");
  #shown = "";

  constructor(title) {
    this.#title = title;
    const details = make("details", {}, make("summary", {}, "Numbers"), this.#numbers);
    this.element = make("figure", {}, make("figcaption", {}, title), this.#summary, this.#drawing, details);
  }

  /** Draw `marks` (of the functions below) and say it in words; nothing is touched where nothing has changed. */
  show(summary, axis, marks, columns, rows) {
    const state = JSON.stringify([summary, rows]);
    if (state === this.#shown) return;
    this.#shown = state;
    this.#summary.textContent = summary;
    const label = `${this.#title}: ${summary}`;
    const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
    svg.append(...frame(axis), ...marks);
    this.#drawing.replaceChildren(svg);
    this.#numbers.replaceChildren(table(this.#title, columns, rows));
  }
}

/** The upper end of an axis that shows `values`: 1, 2 or 5 times a power of ten. */
export function topOf(values) {
  const most = Math.max(...values, 1e-9);
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((factor) => factor * power).find((top) => top >= most);
}

/** Bars, the last one to the right; `bars`: `{value, kind, isNew}`. */
export function barMarks(bars, top, room) {
  const step = (RIGHT - LEFT) / room;
  return bars.map(({ value, kind, isNew }, place) => {
    const index = room - bars.length + place;
    const y = height(value, top);
    const attributes = { x: LEFT + index * step + 0.5, y, width: Math.max(1, step - 1), height: Math.max(0.5, BOTTOM - y) };
    return draw("rect", { ...attributes, class: `bar ${kind}${isNew ? " new" : ""}` });
  });
}

/** A curve through `values`, the first in place `start` of `room`, with a point at each where there are few. */
export function curveMarks(values, top, room, kind, start = 0) {
  const step = (RIGHT - LEFT - 8) / Math.max(1, room - 1);
  const points = values.map((value, index) => [LEFT + 4 + (start + index) * step, height(value, top)]);
  const line = draw("polyline", { class: `curve ${kind}`, points: points.map((point) => point.join(",")).join(" ") });
  const dots = points.length > 20 ? [] : points.map(([cx, cy]) => draw("circle", { cx, cy, r: 3, class: `point ${kind}` }));
  return [line, ...dots];
}

function frame({ top, unit, left, right }) {
  const ticks = [0, 0.5, 1].map((share) => [share * top, height(share * top, top)]);
  return [
    draw("path", { class: "axis", d: ticks.map(([, y]) => `M${LEFT} ${y}H${RIGHT}`).join("") }),
    ...ticks.map(([value, y]) => draw("text", { x: LEFT - 4, y: y + 3, "text-anchor": "end" }, short(value))),
    draw("text", { x: LEFT, y: HEIGHT - 4 }, left),
    draw("text", { x: RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, `${right} · ${unit}`),
  ];
}

const height = (value, top) => BOTTOM - (Math.min(value, top) / top) * (BOTTOM - TOP);
const short = (value) => (value >= 10 || value === 0 ? value.toFixed(0) : value.toPrecision(2).replace(/\.?0+$/, ""));
