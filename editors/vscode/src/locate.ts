// Finds the program, and says once where to get it.

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";

import * as vscode from "vscode";

import { findProgram, PROGRAM } from "./pure/program";
import type { Settings } from "./settings";

const TOLD = "toldThatTheProgramIsMissing";

export class Locator {
  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly settings: Settings,
  ) {}

  /** The program's file; undefined where there is none, which is told once and not at each start. */
  async find(): Promise<string | undefined> {
    const file = await findProgram(
      {
        setting: this.settings.path,
        searchPath: process.env["PATH"] ?? "",
        home: homedir(),
        folders: (vscode.workspace.workspaceFolders ?? [])
          .filter((folder) => folder.uri.scheme === "file")
          .map((folder) => folder.uri.fsPath),
        isTrusted: vscode.workspace.isTrusted,
      },
      canRun,
    );
    if (file !== undefined) {
      await this.context.globalState.update(TOLD, undefined);
    }
    return file;
  }

  /** Why there is none, in a sentence. */
  get missing(): string {
    const setting = this.settings.path;
    return setting === ""
      ? `The program ${PROGRAM} is not on the PATH of VS Code, in ~/.local/bin, or in a trusted folder's .venv/bin.`
      : `The setting completiond.path names ${setting}, which is no program.`;
  }

  /** Tell the user, unless that was done before; does not wait for what is chosen. */
  async tellOnce(): Promise<void> {
    const reason = this.missing;
    if (this.context.globalState.get<string>(TOLD) !== reason) {
      await this.context.globalState.update(TOLD, reason); // first: who sees it may close the window at once
      void this.tell();
    }
  }

  /** Tell the user, and do what is chosen. */
  async tell(): Promise<void> {
    const install = "How to install it";
    const choose = "Choose the file";
    const chosen = await vscode.window.showErrorMessage(`completiond: ${this.missing}`, install, choose);
    if (chosen === install) {
      await this.showInstructions();
    } else if (chosen === choose) {
      await this.choose();
    }
  }

  /** Show this extension's README. */
  async showInstructions(): Promise<void> {
    await vscode.commands.executeCommand(
      "markdown.showPreview",
      vscode.Uri.joinPath(this.context.extensionUri, "README.md"),
    );
  }

  /** Have the user choose the program; that changes the setting, which starts it. */
  async choose(): Promise<void> {
    const [file] = (await vscode.window.showOpenDialog({ title: "The program completiond", openLabel: "Use" })) ?? [];
    if (file !== undefined) {
      await this.settings.set("path", file.fsPath);
    }
  }
}

async function canRun(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false; // not there, or not ours to run: the next one
  }
}
