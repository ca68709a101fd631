// Elements from plain data. Text goes in as text only: nothing here, nor elsewhere on the page, reads it as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** A new element; `children` are elements and strings. */
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** A new element of a drawing. */
export function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A table. `columns`: a heading each; one that begins with "<" is of words, which stand to the left. */
export function table(caption, columns, rows) {
  const kind = (index) => (columns[index].startsWith("<") ? { class: "words" } : {});
  const head = columns.map((name, index) => make("th", { scope: "col", ...kind(index) }, name.replace(/^</, "")));
  const lines = rows.map((row) => make("tr", {}, ...row.map((cell, index) => make("td", kind(index), String(cell)))));
  const whole = make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...head)));
  whole.append(make("tbody", {}, ...lines));
  return make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": caption }, whole); // keys scroll it
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
