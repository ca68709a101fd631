// The extension's settings, as VS Code has them.

import * as vscode from "vscode";

import type { Switches } from "./pure/gate";
import { settingsToSend, type Table } from "./pure/settings";

export const SECTION = "completiond";

/** Settings of this extension that mean nothing to the server. */
const OWN = new Set(["path", "streaming"]);

/** Reads the settings; `names` are in the manifest. */
export class Settings {
  private readonly names: readonly string[];

  constructor(private readonly context: vscode.ExtensionContext) {
    const manifest = context.extension.packageJSON as {
      readonly contributes: { readonly configuration: { readonly properties: Readonly<Record<string, unknown>> } };
    };
    this.names = Object.keys(manifest.contributes.configuration.properties)
      .map((name) => name.slice(SECTION.length + 1))
      .filter((name) => !OWN.has(name));
  }

  private get configuration(): vscode.WorkspaceConfiguration {
    return vscode.workspace.getConfiguration(SECTION);
  }

  /** The setting `completiond.path`; VS Code leaves a workspace's out where that is not trusted. */
  get path(): string {
    return this.configuration.get<string>("path", "");
  }

  get isStreaming(): boolean {
    return this.configuration.get<boolean>("streaming", true);
  }

  get switches(): Switches {
    return {
      enabled: this.configuration.get<boolean>("completion.enabled", true),
      disabledLanguages: this.configuration.get<string[]>("completion.disabled_languages", []),
      disabledFiles: this.disabledFiles,
    };
  }

  /** Documents without suggestions, by URI: kept in VS Code's own storage, not in the repository. */
  get disabledFiles(): readonly string[] {
    return this.context.workspaceState.get<string[]>("disabledFiles", []);
  }

  async setDisabledFiles(files: readonly string[]): Promise<void> {
    await this.context.workspaceState.update("disabledFiles", files);
  }

  /** Whether the user, or a workspace, has set it. */
  isSet(name: string): boolean {
    const inspected = this.configuration.inspect(name);
    return inspected?.globalValue !== undefined || inspected?.workspaceValue !== undefined;
  }

  /** Change a setting for this user. */
  async set(name: string, value: unknown): Promise<void> {
    await this.configuration.update(name, value, vscode.ConfigurationTarget.Global);
  }

  /** What the server is told. */
  get toSend(): Table {
    return settingsToSend(this.names, (name) => this.configuration.inspect(name), vscode.workspace.isTrusted);
  }
}
