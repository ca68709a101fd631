// Ghost text that grows while its tokens come.

import * as vscode from "vscode";
import {
  InlineCompletionRequest,
  type LanguageClient,
  NotificationType,
  type Position,
  ResponseError,
} from "vscode-languageclient/node";

import { SELECTOR } from "./documents";
import { mayShowMore, type Shown, type View, waitMs } from "./pure/pace";
import { Suggestion } from "./pure/suggestion";

/** The answer so far: see completiond/lsp/inline.py. */
interface Partial {
  readonly textDocument: { readonly uri: string; readonly version: number };
  readonly position: Position;
  readonly insertText: string;
}

const PARTIAL = new NotificationType<Partial>("completiond/partialInlineCompletion");
const GROWING = "completiond.isGrowing";
const SHOW_EVERY_MS = 60; // chosen: growth looks even, and the editor is not kept busy by it
const UNWANTED_AFTER_MS = 100; // VS Code may take a request back and ask the same again
const UNREGISTER_AFTER_MS = 500;
const PROVIDER = "completiond.completiond:*";

/** A place in a version of a document. */
interface Spot {
  readonly uri: string;
  readonly version: number;
  readonly cursor: number;
}

/** What the stream tells of. */
export interface Listener {
  onWorking(isWorking: boolean): void;
  onFailure(error: unknown): void;
  /** Milliseconds from the request to the first text, and to the whole answer. */
  onTimes(firstMs: number, wholeMs: number, characters: number): void;
}

/**
 * Asks one client, and shows at most one suggestion at a time: that of the place where the user is.
 *
 * VS Code has no way to say that a suggestion has grown. It asks again when it is told to, but not a provider that it
 * has asked for the same place and version; so each time the provider is registered anew. What is shown stays on the
 * screen until the answer is there.
 */
export class Stream implements vscode.Disposable, vscode.InlineCompletionItemProvider {
  private registrations: vscode.Disposable[] = [];
  private current: Suggestion | undefined;
  private cancel: vscode.CancellationTokenSource | undefined;
  private shown: Shown | undefined;
  private shownMs = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Whether the next call of the provider is due to our own command, which old versions call the user's. */
  private isOurCommand = false;
  /** Where the user wanted no suggestion. */
  private dismissed: Spot | undefined;
  private readonly subscriptions: vscode.Disposable[];
  /** Whether that has been told to VS Code. */
  private isGrowing = false;

  /** `mayAsk`: whether suggestions are wanted in a document. */
  constructor(
    private readonly client: LanguageClient,
    private readonly mayAsk: (document: vscode.TextDocument) => boolean,
    private readonly listener: Listener,
  ) {
    this.register();
    this.subscriptions = [
      client.onNotification(PARTIAL, (partial) => this.onPartial(partial)),
      vscode.workspace.onDidChangeTextDocument((event) => this.onChange(event)),
      vscode.workspace.onDidCloseTextDocument((document) => this.onLeave(document.uri)),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (this.current !== undefined && editor?.document.uri.toString() !== this.current.asked.uri) {
          this.drop();
        }
      }),
      vscode.window.onDidChangeTextEditorSelection(() => this.dropIfUnwanted()),
    ];
  }

  /** What VS Code asks for at each key. */
  async provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[] | null> {
    if (!this.mayAsk(document)) {
      return null;
    }
    if (context.selectedCompletionInfo !== undefined) {
      return this.behindSelected(document, position, context, token);
    }
    const invoked = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke && !this.isOurCommand;
    this.isOurCommand = false;
    const uri = document.uri.toString();
    const cursor = document.offsetAt(position);
    let suggestion = this.current;
    if (invoked) {
      this.dismissed = undefined;
    } else if (isSame(this.dismissed, { uri, version: document.version, cursor })) {
      return null; // our own command was on its way
    }
    if (suggestion?.fits(uri, document.version, cursor) !== true) {
      suggestion = this.ask(document, position, context, "", invoked);
    } else if (suggestion.isDone && suggestion.rest === "") {
      suggestion = this.ask(document, position, context, "", invoked);
    } else if (invoked && suggestion.others.length === 0) {
      suggestion = this.ask(document, position, context, suggestion.rest, invoked); // what is shown stays
    }
    const listening = token.onCancellationRequested(() => this.dropIfUnwanted());
    try {
      await suggestion.ready(invoked);
    } finally {
      listening.dispose();
    }
    if (token.isCancellationRequested || !suggestion.fits(uri, document.version, cursor)) {
      return null;
    }
    const rests = suggestion.rests;
    this.shown = { version: document.version, cursor, length: suggestion.rest.length };
    this.shownMs = Date.now();
    this.tellWhetherGrowing();
    return rests.map((rest) => {
      const end = position.translate(0, suggestion.replaces(rest));
      return new vscode.InlineCompletionItem(rest, new vscode.Range(position, end));
    });
  }

  /** What goes on behind the item that is selected in VS Code's own list: comes whole, and replaces what that does. */
  private async behindSelected(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[]> {
    this.drop();
    const { client } = this;
    const params = client.code2ProtocolConverter.asInlineCompletionParams(document, position, context);
    try {
      const result = await client.sendRequest(InlineCompletionRequest.type, params, token);
      const found = await client.protocol2CodeConverter.asInlineCompletionResult(result, token);
      return token.isCancellationRequested ? [] : Array.isArray(found) ? found : (found?.items ?? []);
    } catch (error) {
      if (!token.isCancellationRequested && !isCancellation(error)) {
        this.listener.onFailure(error);
      }
      return [];
    }
  }

  /** The user wants no more of what is shown. */
  async dismiss(): Promise<void> {
    if (this.current !== undefined) {
      const { asked, version, cursor } = this.current;
      this.dismissed = { uri: asked.uri, version, cursor };
    }
    this.drop();
    await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
  }

  dispose(): void {
    this.drop();
    disposeAll([...this.registrations, ...this.subscriptions]);
  }

  /** The provider before stays for a moment: VS Code may just be asking it for the next key. */
  private register(): void {
    const before = this.registrations.splice(0);
    setTimeout(() => disposeAll(before), UNREGISTER_AFTER_MS);
    const registration = vscode.languages.registerInlineCompletionItemProvider(SELECTOR, {
      provideInlineCompletionItems: (...asked) => this.provideInlineCompletionItems(...asked),
    });
    this.registrations.push(registration);
  }

  private ask(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    known: string,
    invoked: boolean,
  ): Suggestion {
    this.drop();
    const { line, character } = position;
    const asked = { uri: document.uri.toString(), version: document.version, position: { line, character } };
    const suggestion = new Suggestion(asked, document.offsetAt(position), known);
    const cancel = new vscode.CancellationTokenSource();
    this.current = suggestion;
    this.cancel = cancel;
    const params = this.client.code2ProtocolConverter.asInlineCompletionParams(document, position, context);
    params.context.triggerKind = invoked ? 1 : 2; // LSP's InlineCompletionTriggerKind
    void this.answer(suggestion, params, cancel.token);
    return suggestion;
  }

  private async answer(
    suggestion: Suggestion,
    params: ReturnType<LanguageClient["code2ProtocolConverter"]["asInlineCompletionParams"]>,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const startMs = Date.now();
    let firstMs = 0;
    void suggestion.ready(false).then(() => (firstMs = Date.now() - startMs));
    this.listener.onWorking(true);
    let items: string[] = [];
    try {
      const result = await this.client.sendRequest(InlineCompletionRequest.type, params, token);
      const found = Array.isArray(result) ? result : (result?.items ?? []);
      items = found.map((item) => (typeof item.insertText === "string" ? item.insertText : item.insertText.value));
    } catch (error) {
      if (!token.isCancellationRequested && !isCancellation(error)) {
        this.listener.onFailure(error);
      }
    }
    suggestion.finish(items);
    if (suggestion === this.current) {
      this.listener.onWorking(false);
      this.showMore();
      this.tellWhetherGrowing();
    }
    if (!suggestion.isDropped && suggestion.text !== "") {
      const wholeMs = Date.now() - startMs;
      this.listener.onTimes(Math.min(firstMs, wholeMs), wholeMs, suggestion.text.length);
    }
  }

  private onPartial(partial: Partial): void {
    const { uri, version } = partial.textDocument;
    const ours = this.client.protocol2CodeConverter.asUri(uri).toString();
    const { current } = this;
    if (current?.isAbout({ uri: ours, version, position: partial.position }) && current.grow(partial.insertText)) {
      this.showMore();
    }
  }

  private onChange(event: vscode.TextDocumentChangeEvent): void {
    const current = this.current;
    if (event.document.uri.toString() !== current?.asked.uri) {
      return;
    }
    const changes = event.contentChanges.map((change) => ({
      offset: change.rangeOffset,
      length: change.rangeLength,
      text: change.text,
    }));
    current.follow(changes, event.document.version);
    if (current.isDropped) {
      this.drop();
    }
  }

  private onLeave(uri: vscode.Uri): void {
    if (uri.toString() === this.current?.asked.uri) {
      this.drop();
    }
  }

  /** Have VS Code ask again, at once or a moment later, if that would show more. */
  private showMore(): void {
    clearTimeout(this.timer);
    const { current, shown } = this;
    if (current === undefined || !mayShowMore(current, shown, view())) {
      return;
    }
    const delayMs = waitMs(this.shownMs, Date.now(), SHOW_EVERY_MS);
    this.timer = setTimeout(() => {
      if (current === this.current && mayShowMore(current, this.shown, view())) {
        this.register();
        this.isOurCommand = true;
        const command = "editor.action.inlineSuggest.trigger";
        void vscode.commands.executeCommand(command, { explicit: false, providerId: PROVIDER }).then(
          () => (this.isOurCommand = false),
          (error: unknown) => this.listener.onFailure(error),
        );
      }
    }, delayMs);
  }

  /** The cursor may have gone, or VS Code may have lost interest: see a moment later, since it may also ask again. */
  private dropIfUnwanted(): void {
    const suggestion = this.current;
    const version = suggestion?.version;
    setTimeout(() => {
      if (suggestion === undefined || suggestion !== this.current || suggestion.version !== version) {
        return; // the next key, for which VS Code is about to ask, is looked at in its turn
      }
      const now = view();
      const [cursor] = now?.cursors ?? [];
      const isThere = now !== undefined && cursor !== undefined && suggestion.fits(now.uri, now.version, cursor);
      const wasShown = this.shown !== undefined; // of what was typed along since, VS Code is going to ask for the rest
      if (!isThere || !(suggestion.isAwaited || wasShown)) {
        this.drop();
      }
    }, UNWANTED_AFTER_MS);
  }

  private drop(): void {
    clearTimeout(this.timer);
    if (this.current !== undefined) {
      if (!this.current.isDone) {
        this.listener.onWorking(false);
      }
      this.current.drop();
    }
    this.current = undefined;
    this.shown = undefined;
    this.cancel?.cancel();
    this.cancel?.dispose();
    this.cancel = undefined;
    this.tellWhetherGrowing();
  }

  /** A context key: only then is Escape ours, since VS Code's own would not keep the rest from being shown. */
  private tellWhetherGrowing(): void {
    const isGrowing = this.current !== undefined && !this.current.isDone && this.shown !== undefined;
    if (isGrowing !== this.isGrowing) {
      this.isGrowing = isGrowing;
      void vscode.commands.executeCommand("setContext", GROWING, isGrowing);
    }
  }
}

function isSame(one: Spot | undefined, other: Spot): boolean {
  return one?.uri === other.uri && one.version === other.version && one.cursor === other.cursor;
}

function disposeAll(disposables: readonly vscode.Disposable[]): void {
  for (const one of disposables) {
    one.dispose();
  }
}

function isCancellation(error: unknown): boolean {
  // LSP 3.17 "ErrorCodes": RequestCancelled, ContentModified, ServerCancelled
  return error instanceof ResponseError && [-32800, -32801, -32802].includes(error.code);
}

function view(): View | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return undefined;
  }
  const { document, selections } = editor;
  const isSelected = selections.some((selection) => !selection.isEmpty);
  return {
    uri: document.uri.toString(),
    version: document.version,
    cursors: isSelected ? [] : selections.map((selection) => document.offsetAt(selection.active)),
  };
}
