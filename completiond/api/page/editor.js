// The text field with a suggestion in it: when to ask, what to show, and which key does what.

import { Answer, firstWord, textOf } from "/page/answer.js";
import { coloured } from "/page/sources.js";

const PAUSE_MS = 250;
const NUM_CHOICES = 4;

export class Editor {
  #text;
  #overlay;
  #handlers;
  #answer = null;
  #running = null;
  #timer = 0;
  #place = { before: "", after: "" };
  #isComposing = false;

  /**
   * `handlers.ask(question, signal)` yields events; `handlers.shown(spans, answer)` is told of every change of what is
   * shown, `handlers.answered(event, isExplained)` of each answer, `handlers.failed(error)` why there is none, and
   * `handlers.looking(text)` how the search for other suggestions goes.
   */
  constructor(text, overlay, handlers) {
    this.#text = text;
    this.#overlay = overlay;
    this.#handlers = handlers;
    text.addEventListener("keydown", (event) => this.#key(event));
    text.addEventListener("input", () => this.#look());
    text.addEventListener("pointerdown", () => this.dismiss()); // the text moves back to where the field has it
    text.addEventListener("compositionstart", () => { this.#isComposing = true; });
    text.addEventListener("compositionend", () => { this.#isComposing = false; this.#look(); });
    document.addEventListener("selectionchange", () => { if (document.activeElement === text) this.#look(); });
    this.#look();
  }

  /** The suggestion, as far as it is not typed. */
  get #rest() {
    return this.#answer?.rest(this.#place.before, this.#place.after) ?? [];
  }

  /** Put the suggestion, or its first word, into the text. */
  accept(isWord = false) {
    const text = textOf(this.#rest);
    if (text) this.#insert(isWord ? firstWord(text) : text);
  }

  /** Show none until something changes. */
  dismiss() {
    this.#stop();
    this.#answer = null;
    this.#paint();
  }

  /** Forget the suggestion and ask again, as after a change of the file's name. */
  anew() {
    this.dismiss();
    if (this.#text.value) this.#plan();
  }

  /** Ask again, with passes of the model, for what was drafted in each. */
  explain() {
    return this.#request({ explain: true });
  }

  /** Show another suggestion, `step` further. They are asked for when the first other one is wanted. */
  async other(step) {
    if ((this.#answer?.choices.length ?? 0) > 1) {
      this.#turn(step);
      return;
    }
    this.#handlers.looking("Looking for others.");
    const answer = await this.#request({ count: NUM_CHOICES });
    if (!answer) this.#handlers.looking("");
    else if (answer.choices.length < 2) this.#handlers.looking("There is no other suggestion here.");
  }

  #turn(step) {
    const answer = this.#answer;
    const was = answer.choice;
    const { before, after } = this.#place;
    do answer.choice = (answer.choice + step + answer.choices.length) % answer.choices.length;
    while (answer.choice !== was && !answer.rest(before, after)?.length); // some do not begin as was typed
    this.#paint();
  }

  #look() {
    if (this.#isComposing) return;
    const { value, selectionStart, selectionEnd } = this.#text;
    const place = { before: value.slice(0, selectionStart), after: value.slice(selectionEnd) };
    const isSame = place.before === this.#place.before && place.after === this.#place.after;
    this.#place = place;
    if (isSame) return;
    const rest = this.#answer?.rest(place.before, place.after);
    if (!rest || (!rest.length && this.#answer.completions[this.#answer.choice])) {
      this.#stop();
      this.#answer = null;
    }
    this.#paint();
    const isChosen = this.#answer?.choice > 0; // asking again would bring the likeliest back
    if (selectionStart === selectionEnd && !isChosen) this.#plan();
    else this.#stop();
  }

  #plan() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#request({}), PAUSE_MS);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.#running = null;
  }

  /** Ask, and show what comes; the answer if it came to its end, else null. */
  async #request({ count = 1, explain = false }) {
    this.#stop();
    if (count === 1) this.#handlers.looking("");
    const running = (this.#running = new AbortController());
    const { before, after } = this.#place;
    const answer = new Answer(before, after);
    try {
      for await (const event of this.#handlers.ask({ prefix: before, suffix: after, count, explain }, running.signal)) {
        if (running !== this.#running) return null;
        answer.take(event);
        if (event.number === 1 && event.completion) answer.choice = 1;
        this.#answer = answer;
        this.#paint();
        if (event.completion) this.#handlers.answered(event, explain);
      }
      return answer;
    } catch (error) {
      if (running === this.#running) this.#handlers.failed(error);
      return null;
    } finally {
      if (running === this.#running) this.#running = null;
    }
  }

  #paint() {
    const spans = this.#rest;
    // A line that ends the text has a height only with something in it.
    this.#overlay.replaceChildren(this.#beforeSelectionEnd(), ...spans.map(coloured), `${this.#place.after}\u200b`);
    this.#handlers.shown(spans, spans.length ? this.#answer : null);
  }

  /** What stands before the suggestion; the selected text, which is in neither half, too. */
  #beforeSelectionEnd() {
    return this.#text.value.slice(0, this.#text.value.length - this.#place.after.length);
  }

  #insert(text) {
    this.#text.focus();
    // The old command is the only one after which a browser's undo works.
    if (!document.execCommand("insertText", false, text)) {
      this.#text.setRangeText(text, this.#text.selectionStart, this.#text.selectionEnd, "end");
      this.#look();
    }
  }

  #key(event) {
    if (event.isComposing) return;
    const has = this.#rest.length > 0;
    const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
    const isAlt = event.altKey && !event.ctrlKey && !event.metaKey;
    const isControl = event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
    let does = null;
    if (isPlain && event.key === "Tab" && has) does = () => this.accept();
    else if (isPlain && event.key === "Escape") does = () => this.dismiss();
    else if (isPlain && event.key === "Enter") does = () => this.#insert(`\n${this.#margin()}`);
    else if (isControl && event.key === "ArrowRight" && has) does = () => this.accept(true);
    else if (isControl && event.key.toLowerCase() === "i") does = () => this.explain();
    else if (isAlt && (event.code === "BracketRight" || event.key === "]")) does = () => this.other(1);
    else if (isAlt && (event.code === "BracketLeft" || event.key === "[")) does = () => this.other(-1);
    if (!does) return;
    event.preventDefault();
    does();
  }

  #margin() {
    const line = this.#place.before.slice(this.#place.before.lastIndexOf("\n") + 1);
    return line.match(/^[ \t]*/)[0];
  }
}
