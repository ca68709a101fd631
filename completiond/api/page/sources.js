// Who makes pieces of text: the model itself, and drafters, whose guesses it has checked.

const NAMES = {
  model: "model", ngram: "dictionary", eagle: "EAGLE head", draft: "draft model", medusa: "Medusa heads", lookahead: "lookahead",
};

/** What people call a source. */
export const nameOf = (source) => (Object.hasOwn(NAMES, source) ? NAMES[source] : source);

/** The class that colours its text. */
export const classOf = (source) => `from from-${Object.hasOwn(NAMES, source) ? source : "other"}`;

/** All that are known. */
export const SOURCES = Object.keys(NAMES);
