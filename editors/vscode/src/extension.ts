// The composition root: makes the parts and tells them of each other.

import * as vscode from "vscode";

import { StatusBar } from "./bar";
import { registerCommands } from "./commands";
import { isOurs } from "./documents";
import { Locator } from "./locate";
import { Pages } from "./pages";
import { whyNotAsked } from "./pure/gate";
import { messageOf, Server } from "./server";
import { SECTION, Settings } from "./settings";
import { Stream } from "./stream";

let server: Server | undefined; // VS Code calls `deactivate` without anything

export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel("completiond", { log: true });
  const settings = new Settings(context);
  const locator = new Locator(context, settings);
  const bar = new StatusBar();
  const pages = new Pages();
  let stream: Stream | undefined;

  const notAskedFor = (document: vscode.TextDocument): string =>
    whyNotAsked(settings.switches, document.languageId, document.uri.toString());

  const made = new Server(
    locator,
    output,
    (program) => ({
      program,
      output,
      settings,
      isStreaming: settings.isStreaming,
      provideInlineCompletionItems: (document, position, inline, token, next) => {
        const isAnswered = stream !== undefined; // by the provider that the stream registers
        return isAnswered || notAskedFor(document) !== "" ? null : next(document, position, inline, token);
      },
    }),
    (client) => {
      stream?.dispose();
      stream = settings.isStreaming
        ? new Stream(client, (document) => notAskedFor(document) === "", {
            onWorking: (isWorking) => (bar.working = isWorking),
            onFailure: (error) => {
              output.error(`No completion: ${messageOf(error)}`);
              bar.condition = { kind: "error", reason: messageOf(error) };
            },
            onTimes: (firstMs, wholeMs, characters) => {
              if (bar.condition.kind === "error") {
                void made.refresh();
              }
              output.debug(`first text after ${firstMs} ms, all ${characters} characters after ${wholeMs} ms`);
            },
          })
        : undefined;
    },
  );
  server = made;

  const onSwitched = (): void => {
    const document = vscode.window.activeTextEditor?.document;
    bar.reasonNotAsked = document !== undefined && isOurs(document) ? notAskedFor(document) : "";
  };
  const startFor = (document: vscode.TextDocument): void => {
    if (isOurs(document)) {
      void made.start();
    }
  };

  context.subscriptions.push(
    output,
    bar,
    pages,
    made,
    { dispose: () => stream?.dispose() },
    made.onCondition((condition) => (bar.condition = condition)),
    vscode.workspace.onDidOpenTextDocument(startFor),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (made.running === undefined && vscode.workspace.textDocuments.some(isOurs)) {
        void made.restart();
      }
    }),
    vscode.window.onDidChangeActiveTextEditor(onSwitched),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SECTION)) {
        onSwitched();
      }
      if (event.affectsConfiguration(`${SECTION}.path`) || event.affectsConfiguration(`${SECTION}.streaming`)) {
        void made.restart();
      }
    }),
    ...registerCommands({
      server: made,
      settings,
      locator,
      pages,
      output,
      onSwitched,
      dismiss: async () => {
        await (stream?.dismiss() ?? vscode.commands.executeCommand("editor.action.inlineSuggest.hide"));
      },
    }),
  );
  onSwitched();
  vscode.workspace.textDocuments.forEach(startFor);
}

export async function deactivate(): Promise<void> {
  await server?.end();
}
