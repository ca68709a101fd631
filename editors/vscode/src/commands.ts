// The commands, and the menu of them.

import * as vscode from "vscode";

import type { Locator } from "./locate";
import { pickModel } from "./models";
import type { Pages } from "./pages";
import { toggled, whyNotAsked } from "./pure/gate";
import { type Status, statusPage, whyPage } from "./pure/status";
import { output } from "./run";
import { messageOf, type Server } from "./server";
import type { Settings } from "./settings";

/** What the commands work on. */
export interface World {
  readonly server: Server;
  readonly settings: Settings;
  readonly locator: Locator;
  readonly pages: Pages;
  readonly output: vscode.LogOutputChannel;
  /** Something that the gate depends on has changed. */
  readonly onSwitched: () => void;
  readonly dismiss: () => Promise<void>;
}

/** Register all commands. */
export function registerCommands(world: World): vscode.Disposable[] {
  const commands: Record<string, () => Promise<void>> = {
    menu: () => menu(world),
    toggle: async () => {
      await world.settings.set("completion.enabled", !world.settings.switches.enabled);
    },
    toggleLanguage: () => toggleLanguage(world),
    toggleFile: () => toggleFile(world),
    why: () => why(world),
    status: () => status(world),
    restart: () => world.server.restart(),
    stopDaemon: () => world.server.stopDaemon(),
    pickModel: () => chooseModel(world),
    showLog: async () => {
      world.output.show();
      return Promise.resolve();
    },
    openSettings: async () => {
      await vscode.commands.executeCommand("workbench.action.openSettings", "@ext:completiond.completiond");
    },
    dismiss: () => world.dismiss(),
  };
  return Object.entries(commands).map(([name, run]) =>
    vscode.commands.registerCommand(`completiond.${name}`, () => reported(run)),
  );
}

/** A command that fails says so: the user waits for it. */
async function reported(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    void vscode.window.showErrorMessage(`completiond: ${messageOf(error)}`);
  }
}

function activeDocument(): vscode.TextDocument | undefined {
  return vscode.window.activeTextEditor?.document;
}

async function menu(world: World): Promise<void> {
  const { settings, server } = world;
  const document = activeDocument();
  const { enabled, disabledLanguages, disabledFiles } = settings.switches;
  const turn = (isOn: boolean): string => (isOn ? "Turn off" : "Turn on");
  const entries: { label: string; command: string }[] = [];
  if (server.program === "") {
    entries.push({ label: "$(info) How to install completiond", command: "" });
  }
  entries.push({ label: `$(circle-slash) ${turn(enabled)} suggestions`, command: "toggle" });
  if (document !== undefined) {
    const { languageId } = document;
    entries.push(
      {
        label: `$(circle-slash) ${turn(!disabledLanguages.includes(languageId))} for ${languageId}`,
        command: "toggleLanguage",
      },
      {
        label: `$(circle-slash) ${turn(!disabledFiles.includes(document.uri.toString()))} in this file`,
        command: "toggleFile",
      },
      { label: "$(question) Why is nothing suggested?", command: "why" },
    );
  }
  entries.push(
    { label: "$(info) Show the status", command: "status" },
    { label: "$(server-environment) Choose the model", command: "pickModel" },
    { label: "$(refresh) Restart the language server", command: "restart" },
    { label: "$(debug-stop) Stop the daemon, of all editors", command: "stopDaemon" },
    { label: "$(output) Show the log", command: "showLog" },
    { label: "$(gear) Settings", command: "openSettings" },
  );
  const pick = await vscode.window.showQuickPick(entries, { title: "completiond" });
  if (pick?.command === "") {
    await world.locator.tell();
  } else if (pick !== undefined) {
    await vscode.commands.executeCommand(`completiond.${pick.command}`);
  }
}

async function toggleLanguage({ settings, locator }: World): Promise<void> {
  const document = activeDocument();
  if (document === undefined) {
    throw new Error("No file is open, so there is no language to turn on or off.");
  }
  const name = "completion.disabled_languages";
  // Once it is set here, config.toml's list does not count any more: begin with that.
  const program = settings.isSet(name) ? undefined : await locator.find();
  const before = program === undefined ? settings.switches.disabledLanguages : await listInFile(program);
  await settings.set(name, toggled(before, document.languageId));
}

/** The languages that config.toml, or the environment, turns off. */
async function listInFile(program: string): Promise<readonly string[]> {
  const shown = JSON.parse(await output(program, "config", "show", "--json")) as {
    readonly completion: { readonly disabled_languages: { readonly value: readonly string[] } };
  };
  return shown.completion.disabled_languages.value;
}

async function toggleFile({ settings, onSwitched }: World): Promise<void> {
  const document = activeDocument();
  if (document === undefined) {
    throw new Error("No file is open to turn on or off.");
  }
  await settings.setDisabledFiles(toggled(settings.disabledFiles, document.uri.toString()));
  onSwitched();
}

async function why(world: World): Promise<void> {
  const document = activeDocument();
  if (document === undefined) {
    throw new Error("Open the file in question, and ask again.");
  }
  const found = await statusOrPage(world);
  const notAsked = whyNotAsked(world.settings.switches, document.languageId, document.uri.toString());
  const question = { file: document.uri.path, notAsked };
  await world.pages.show("why", typeof found === "string" ? found : whyPage(found, question));
}

async function status(world: World): Promise<void> {
  const found = await statusOrPage(world);
  await world.pages.show("status", typeof found === "string" ? found : statusPage(found, world.server.program));
}

/** The server's status with its last requests, or a page that says why there is none. */
async function statusOrPage({ server, locator }: World): Promise<Status | string> {
  const found = await server.status(true);
  if (found !== undefined) {
    return found;
  }
  if (server.program === "") {
    const isThere = (await locator.find()) !== undefined;
    const reason = isThere ? "It starts with the first file that is opened." : locator.missing;
    return `# completiond is not running\n\n${reason}\n`;
  }
  return "# completiond is not running\n\nThe log says why: the command “completiond: Show the log”.\n";
}

async function chooseModel({ server, locator }: World): Promise<void> {
  const program = await locator.find();
  if (program === undefined) {
    await locator.tell();
  } else if (await pickModel(program)) {
    await server.stopDaemon();
  }
}
