// When what is shown is shown anew because there is more of it.

/** What is on the screen, as far as an extension can know: the last answer that was given to VS Code. */
export interface Shown {
  readonly version: number;
  readonly cursor: number;
  readonly length: number;
}

/** The editor at this moment. */
export interface View {
  readonly uri: string;
  readonly version: number;
  /** Offsets of the cursors, in UTF-16 units; none where text is selected. */
  readonly cursors: readonly number[];
}

/** The part of a suggestion that matters here. */
export interface Growing {
  readonly version: number;
  readonly cursor: number;
  readonly rest: string;
  fits(uri: string, version: number, cursor: number): boolean;
}

/**
 * Whether to have the suggestion shown anew: it is on the screen at the cursor, nothing was edited or moved since, and
 * there is more of it. What is not on the screen, since it was dismissed for example, is not brought back.
 */
export function mayShowMore(growing: Growing, shown: Shown | undefined, view: View | undefined): boolean {
  const cursor = view?.cursors[0];
  return (
    view !== undefined &&
    cursor !== undefined &&
    view.cursors.length === 1 &&
    growing.fits(view.uri, view.version, cursor) &&
    shown?.version === growing.version &&
    shown.cursor === growing.cursor &&
    growing.rest.length > shown.length
  );
}

/** Milliseconds until something may happen again that happened at `lastMs` and should at most every `everyMs`. */
export function waitMs(lastMs: number, nowMs: number, everyMs: number): number {
  return Math.max(0, lastMs + everyMs - nowMs);
}
