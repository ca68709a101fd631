// Who makes pieces of text: the model itself, and drafters, whose guesses it has checked.

import { make } from "/page/dom.js";

const NAMES = {
  model: "model", ngram: "dictionary", eagle: "EAGLE head", draft: "draft model", medusa: "Medusa heads", lookahead: "lookahead",
};

/** What people call a source. */
export const nameOf = (source) => (Object.hasOwn(NAMES, source) ? NAMES[source] : source);

/** The class that colours its text. */
export const classOf = (source) => `from from-${Object.hasOwn(NAMES, source) ? source : "other"}`;

/** A piece of text in the colour of who made it; what is blank before and behind a line is not underlined. */
export function coloured({ text, source }) {
  const parts = text.split(/(\s*\n\s*|^\s+|\s+$)/u).filter(Boolean);
  return make("span", { class: classOf(source) }, ...parts.map((part) => (part.trim() ? make("u", {}, part) : part)));
}

/** All that are known. */
export const SOURCES = Object.keys(NAMES);
