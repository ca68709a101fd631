// A suggestion that grows while its tokens come, and is typed along.

import { firstCloser, isPair } from "./closers";

/** A change of a document, as VS Code tells it: `length` UTF-16 units at `offset` give way to `text`. */
export interface Change {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/** A place in a document: LSP's position, in UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly character: number;
}

/** Where a partial answer belongs, as the server says it. */
export interface PartialPlace {
  readonly uri: string;
  readonly version: number;
  readonly position: Place;
}

/**
 * What is suggested at one place of a document.
 *
 * It only ever gets longer: what was shown is not taken back or changed while the user types along it. It follows the
 * edits of its document; `isDropped` once one does not fit.
 */
export class Suggestion {
  /** All that is known of the suggestion, from the place it was asked for. */
  text: string;
  /** Whether no more will come. */
  isDone = false;
  /** Further suggestions for the same place, for who asked for them. */
  others: readonly string[] = [];
  isDropped = false;
  private typedLength = 0;
  /** What the editor closed behind the cursor, by itself, of what was typed along. */
  private closers = "";
  private waiting: (() => void)[] = [];
  /** Version of the document that it fits now. */
  version: number;

  /** `offset`: of the place asked for, in UTF-16 units. `known`: what is on the screen there and must stay. */
  constructor(
    readonly asked: PartialPlace,
    private readonly offset: number,
    known = "",
  ) {
    this.text = known;
    this.version = asked.version;
  }

  /** Where the cursor has to be, in UTF-16 units. */
  get cursor(): number {
    return this.offset + this.typedLength;
  }

  /** What is left to show at the cursor. */
  get rest(): string {
    return this.text.slice(this.typedLength);
  }

  /** What is left of all suggestions, the shown one first. */
  get rests(): string[] {
    const typed = this.text.slice(0, this.typedLength);
    const others = this.others.filter((one) => one.startsWith(typed)).map((one) => one.slice(this.typedLength));
    return [...new Set([this.rest, ...others])].filter((one) => one !== "");
  }

  /**
   * How many UTF-16 units behind the cursor one of the rests takes the place of: the closers that the editor put there,
   * if it has them at their place. What has no such closers, or not yet, goes in front of them.
   */
  replaces(rest: string): number {
    let at = 0;
    for (const closer of this.closers) {
      const found = firstCloser(rest, closer, at);
      if (rest[found] !== closer) {
        return 0;
      }
      at = found + 1;
    }
    return this.closers.length;
  }

  /** Whether this is the answer to what was asked there. */
  isAbout(place: PartialPlace): boolean {
    const { uri, version, position } = this.asked;
    return (
      place.uri === uri &&
      place.version === version &&
      place.position.line === position.line &&
      place.position.character === position.character
    );
  }

  /** Whether it can be shown in a document as it is now, with the cursor at `cursor`. */
  fits(uri: string, version: number, cursor: number): boolean {
    return !this.isDropped && uri === this.asked.uri && version === this.version && cursor === this.cursor;
  }

  /** All of the text that has come so far. Returns whether there is more to show than before. */
  grow(text: string): boolean {
    if (this.isDropped || this.isDone || text.length <= this.text.length || !text.startsWith(this.text)) {
      return false;
    }
    this.text = text;
    this.tell();
    return true;
  }

  /** The whole answer has come, its first item the suggestion itself. Returns whether there is more to show. */
  finish(items: readonly string[]): boolean {
    const [first = "", ...others] = items;
    const grew = this.grow(first);
    this.isDone = true;
    this.others = others;
    this.tell();
    return grew;
  }

  /** The document has changed and is at `version` now. */
  follow(changes: readonly Change[], version: number): void {
    this.version = version;
    if (changes.length === 0) {
      return; // only whether it is saved, for example
    }
    const [change] = changes;
    if (changes.length > 1 || change === undefined || !this.took(change)) {
      this.drop();
    }
  }

  /** It is of no use any more. */
  drop(): void {
    this.isDropped = true;
    this.tell();
  }

  /** Wait until there is something to show, or, with `whole`, until all is there; or it is dropped. */
  async ready(whole: boolean): Promise<void> {
    while (!this.isDropped && !this.isDone && (whole || this.rest === "")) {
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** Whether somebody waits for it. */
  get isAwaited(): boolean {
    return this.waiting.length > 0;
  }

  private took(change: Change): boolean {
    const { offset, length, text } = change;
    if (offset === this.cursor && length <= this.closers.length) {
      const isClosed = length === 0 && isPair(text) && this.rest.startsWith(text.charAt(0));
      const typed = isClosed ? text.charAt(0) : text;
      if (!this.rest.startsWith(typed)) {
        return false;
      }
      this.typedLength += typed.length;
      this.closers = text.slice(typed.length) + this.closers.slice(length);
      return !this.isClosedOtherwise;
    }
    return text === "" && this.tookBack(offset, length);
  }

  /** What was typed along last was deleted, and with an opener the closer that the editor had put there. */
  private tookBack(offset: number, length: number): boolean {
    const behind = offset + length - this.cursor;
    if (offset < this.offset || behind < 0 || behind > this.closers.length) {
      return false;
    }
    const deleted = this.text.slice(offset - this.offset, this.typedLength);
    this.typedLength -= deleted.length;
    const isPairGone = behind === 1 && isPair(deleted + this.closers.charAt(0));
    const isOpen = this.closers !== "" && /[()[\]{}<>"'`]/.test(deleted);
    this.closers = this.closers.slice(behind);
    return isPairGone || (behind === 0 && !isOpen);
  }

  /** Whether it closes something else than what is behind the cursor. */
  private get isClosedOtherwise(): boolean {
    const closer = this.closers.charAt(0);
    const found = closer === "" ? -1 : firstCloser(this.rest, closer, 0);
    return found >= 0 && this.rest[found] !== closer;
  }

  private tell(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) {
      resolve();
    }
  }
}
