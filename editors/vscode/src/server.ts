// The language server's life: started with the first document, started again when it ends by itself.

import * as vscode from "vscode";
import { type LanguageClient, RequestType, State } from "vscode-languageclient/node";

import { createClient, type Parts, type Progress } from "./client";
import type { Locator } from "./locate";
import { Backoff } from "./pure/backoff";
import type { Condition } from "./pure/bar";
import type { Status } from "./pure/status";

const STATUS = new RequestType<{ why: boolean }, Status, void>("completiond/status");
const STOP = new RequestType<null, null, void>("completiond/stop");

export type MakeParts = (program: string) => Omit<Parts, "onClosed" | "onProgress" | "onFailure">;

export class Server implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Condition>();
  /** What the status bar shows. */
  readonly onCondition = this.changed.event;
  private readonly backoff = new Backoff();
  private client: LanguageClient | undefined;
  /** The start that is under way, if any: a server that ends meanwhile leaves it behind. */
  private starting: object | undefined;
  private startedMs = 0;
  private retry: NodeJS.Timeout | undefined;
  private isDisposed = false;
  program = "";

  constructor(
    private readonly locator: Locator,
    private readonly output: vscode.LogOutputChannel,
    private readonly makeParts: MakeParts,
    private readonly onClient: (client: LanguageClient) => void,
  ) {}

  /** The client, while it can be asked. */
  get running(): LanguageClient | undefined {
    return this.client?.state === State.Running ? this.client : undefined;
  }

  /** Start it, unless it runs or is about to. */
  async start(): Promise<void> {
    if (this.starting !== undefined || this.client !== undefined || this.isDisposed) {
      return;
    }
    const mine = {};
    this.starting = mine;
    clearTimeout(this.retry);
    try {
      const program = await this.locator.find();
      if (program === undefined) {
        this.tell({ kind: "error", reason: `${this.locator.missing} Click for what to do.` });
        await this.locator.tellOnce();
        return;
      }
      this.program = program;
      this.tell({ kind: "starting" });
      await this.run(program);
    } finally {
      if (this.starting === mine) {
        this.starting = undefined;
      }
    }
  }

  /** End it, and start it anew. */
  async restart(): Promise<void> {
    this.backoff.reset();
    clearTimeout(this.retry);
    await this.end();
    await this.start();
  }

  /** What the server says of itself; undefined where it does not run. Raises what the server answers. */
  async status(why: boolean): Promise<Status | undefined> {
    return this.running?.sendRequest(STATUS, { why });
  }

  /** End the daemon, of all editors: the next request starts one anew. */
  async stopDaemon(): Promise<void> {
    await this.running?.sendRequest(STOP, null);
    this.tell({ kind: "ready", detail: "The daemon was stopped. It starts anew with the next request." });
  }

  /** Ask how the server is, and show that. */
  async refresh(): Promise<void> {
    try {
      const status = await this.status(false);
      if (status === undefined) {
        return;
      }
      if (status.phase === "failed") {
        this.tell({ kind: "error", reason: status.detail });
      } else if (status.phase === "loading") {
        this.tell({ kind: "loading", percent: Math.round(100 * status.progress), detail: status.detail });
      } else {
        this.tell({ kind: "ready", detail: `${status.model} on ${status.device}, ${status.dtype}` });
      }
    } catch (error) {
      this.tell({ kind: "error", reason: messageOf(error) });
    }
  }

  dispose(): void {
    this.isDisposed = true;
    clearTimeout(this.retry);
    this.changed.dispose();
  }

  /** End the server. */
  async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client !== undefined) {
      try {
        await client.dispose();
      } catch (error) {
        this.output.info(`The language server did not end in order: ${messageOf(error)}`);
      }
    }
  }

  private async run(program: string): Promise<void> {
    const client = createClient({
      ...this.makeParts(program),
      onProgress: (progress) => this.onProgress(progress),
      onClosed: () => this.onClosed(client),
      onFailure: (error) => this.onFailure(error),
    });
    this.client = client;
    this.startedMs = Date.now();
    this.onClient(client);
    try {
      await client.start();
    } catch (error) {
      this.output.error(`The language server did not start: ${messageOf(error)}`);
      this.onClosed(client);
      return;
    }
    await this.refresh();
  }

  private onProgress(progress: Progress): void {
    if (progress.kind === "end") {
      void this.refresh();
    } else {
      const title = progress.kind === "begin" ? progress.title : "";
      this.tell({
        kind: "loading",
        percent: Math.round(progress.percentage ?? 0),
        detail: progress.message ?? title,
      });
    }
  }

  private onFailure(error: Error): void {
    this.output.error(`No completion: ${error.message}`);
    this.tell({ kind: "error", reason: error.message });
  }

  private onClosed(client: LanguageClient): void {
    if (this.client !== client || this.isDisposed) {
      return; // it was ended on purpose, or this was noticed already
    }
    this.client = undefined;
    this.starting = undefined;
    const waitMs = this.backoff.ended(Date.now() - this.startedMs);
    const seconds = Math.ceil(waitMs / 1000);
    this.output.warn(`The language server ended; it is started again in ${waitMs} ms.`);
    this.tell({ kind: "error", reason: `The language server ended; it is started again in ${seconds} s.` });
    if (this.backoff.isWorthAMessage) {
      void this.tellOfFailures();
    }
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.start(), waitMs);
  }

  private async tellOfFailures(): Promise<void> {
    const log = "Show the log";
    const restart = "Restart now";
    const text =
      "completiond: the language server keeps ending. `completiond doctor` in a terminal looks for the cause.";
    const chosen = await vscode.window.showErrorMessage(text, log, restart);
    if (chosen === log) {
      this.output.show();
    } else if (chosen === restart) {
      await this.restart();
    }
  }

  private tell(condition: Condition): void {
    if (!this.isDisposed) {
      this.changed.fire(condition);
    }
  }
}

/** An error in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
