// The language client: VS Code's own, but without popups, and with our capability and settings.

import { homedir } from "node:os";

import type { CancellationToken, LogOutputChannel } from "vscode";
import {
  CloseAction,
  type ClientCapabilities,
  DidChangeConfigurationNotification,
  ErrorAction,
  type FeatureState,
  InlineCompletionRequest,
  LanguageClient,
  type MessageSignature,
  type Middleware,
  type StaticFeature,
  type WorkDoneProgressBegin,
  type WorkDoneProgressEnd,
  type WorkDoneProgressReport,
} from "vscode-languageclient/node";

import { SELECTOR } from "./documents";
import type { Settings } from "./settings";
import { SECTION } from "./settings";

export type Progress = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

/** What a client is made of, and whom it tells. */
export interface Parts {
  readonly program: string;
  readonly output: LogOutputChannel;
  readonly settings: Settings;
  readonly isStreaming: boolean;
  readonly provideInlineCompletionItems: NonNullable<Middleware["provideInlineCompletionItems"]>;
  /** The model is being loaded. */
  readonly onProgress: (progress: Progress) => void;
  /** The server has ended, though nobody asked for it. */
  readonly onClosed: () => void;
  /** A completion failed. */
  readonly onFailure: (error: Error) => void;
}

/** A language client that shows no popup of its own: what is worth one is told once, by who starts it. */
class QuietClient extends LanguageClient {
  constructor(
    private readonly parts: Parts,
    ...rest: ConstructorParameters<typeof LanguageClient>
  ) {
    super(...rest);
  }

  /** To the log only, also what the library insists on showing: at each start that fails, for one. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override handleFailedRequest<T>(
    type: MessageSignature,
    token: CancellationToken | undefined,
    error: unknown,
    defaultValue: T,
    showNotification?: boolean,
    throwOnCancel?: boolean,
  ): T {
    if (type.method !== InlineCompletionRequest.method) {
      return super.handleFailedRequest(type, token, error, defaultValue, showNotification, throwOnCancel);
    }
    this.parts.onFailure(error instanceof Error ? error : new Error(String(error)));
    return defaultValue;
  }
}

/** Says that answers may be told while they grow. */
class PartialAnswers implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    const experimental = (capabilities.experimental ?? {}) as Record<string, unknown>;
    capabilities.experimental = { ...experimental, completiond: { partialInlineCompletion: true } };
  }

  initialize(): void {
    // Nothing to set up: the server does as the capability says.
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // Nothing was set up.
  }
}

/** Return a client that has not been started. */
export function createClient(parts: Parts): LanguageClient {
  const { output, settings } = parts;
  const client: LanguageClient = new QuietClient(
    parts,
    SECTION,
    "completiond",
    // Not in a folder of the workspace, where the program might find files that are somebody else's.
    { command: parts.program, args: ["lsp"], options: { cwd: homedir() } },
    {
      documentSelector: SELECTOR,
      outputChannel: output,
      initializationOptions: { [SECTION]: settings.toSend },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          parts.onClosed();
          return { action: CloseAction.DoNotRestart, handled: true, message: "The language server has ended." };
        },
      },
      middleware: {
        provideInlineCompletionItems: parts.provideInlineCompletionItems,
        handleWorkDoneProgress: (_token, progress) => {
          parts.onProgress(progress);
        },
        workspace: {
          configuration: (params) => params.items.map((item) => (item.section === SECTION ? settings.toSend : null)),
          didChangeConfiguration: async () => {
            await client.sendNotification(DidChangeConfigurationNotification.type, {
              settings: { [SECTION]: settings.toSend },
            });
          },
        },
      },
    },
  );
  if (parts.isStreaming) {
    client.registerFeature(new PartialAnswers());
  }
  return client;
}
