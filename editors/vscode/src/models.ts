// Chooses the model, in the user's config.toml: it is the same for all editors, so no setting of VS Code's.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";

import { withModelName } from "./pure/toml";
import { output } from "./run";

interface Model {
  readonly name: string;
  readonly size_bytes: number;
  readonly licence: string;
  readonly state: string;
  readonly reason: string;
  readonly description: string;
}

/** Have the user choose a model and write it down. Returns whether the daemon should be stopped for it now. */
export async function pickModel(program: string): Promise<boolean> {
  const models = JSON.parse(await output(program, "model", "list", "--json")) as Model[];
  const picks = models.map((model) => ({
    label: model.name,
    description: `${(model.size_bytes / 1e6).toFixed(0)} MB, ${model.licence}, ${model.state}`,
    detail: model.description,
    model,
  }));
  const pick = await vscode.window.showQuickPick(picks, {
    title: "The model of completiond, for all editors on this machine",
    placeHolder: "It is written to your config.toml and takes effect when the daemon is started anew",
  });
  if (pick === undefined) {
    return false;
  }
  const file = (await output(program, "config", "path")).trim();
  const changed = withModelName(await contentOf(file), pick.model.name);
  if (changed === undefined) {
    await vscode.window.showTextDocument(vscode.Uri.file(file));
    void vscode.window.showWarningMessage(`Please set model.name = "${pick.model.name}" here by hand.`);
    return false;
  }
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, changed, "utf-8");
  if (pick.model.state !== "ready") {
    const terminal = vscode.window.createTerminal({ name: "completiond", cwd: homedir() });
    terminal.show();
    terminal.sendText(`${quoted(program)} model pull ${quoted(pick.model.name)}`);
    void vscode.window.showInformationMessage(
      `${pick.model.name} is downloaded in the terminal. When that is done, stop the daemon, and it starts with it.`,
    );
    return false;
  }
  const stop = "Stop the daemon now";
  const text = `${pick.model.name} is used when the daemon starts anew, which it does with the next request.`;
  return (await vscode.window.showInformationMessage(text, stop, "Later")) === stop;
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf-8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return "";
    }
    throw error;
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
