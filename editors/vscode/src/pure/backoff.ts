// How long to wait before a program that ended by itself is started again.

const FIRST_MS = 500;
const LONGEST_MS = 60_000;
const HEALTHY_MS = 30_000;

/** Ends in a row that are told to the user. */
export const FAILURES_BEFORE_MESSAGE = 3;

/** Counts ends in a row: the wait doubles with each, and the row ends with a run of 30 s. */
export class Backoff {
  private failures = 0;

  /** The program ended after `ranMs`. Returns the wait in ms. */
  ended(ranMs: number): number {
    this.failures = ranMs >= HEALTHY_MS ? 1 : this.failures + 1;
    return Math.min(FIRST_MS * 2 ** (this.failures - 1), LONGEST_MS);
  }

  /** Whether this is the moment for a message: once in a row of failures. */
  get isWorthAMessage(): boolean {
    return this.failures === FAILURES_BEFORE_MESSAGE;
  }

  /** The user has changed something: begin anew. */
  reset(): void {
    this.failures = 0;
  }
}
