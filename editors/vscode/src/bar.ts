// The item in the status bar.

import * as vscode from "vscode";

import { type Condition, itemFor } from "./pure/bar";

const BUSY_AFTER_MS = 300; // what is quicker would only flash

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("completiond", vscode.StatusBarAlignment.Right, 90);
  private shownCondition: Condition = { kind: "waiting" };
  private notAsked = "";
  private busyTimer: NodeJS.Timeout | undefined;
  private isBusy = false;

  constructor() {
    this.item.name = "completiond";
    this.item.command = "completiond.menu";
    this.draw();
    this.item.show();
  }

  get condition(): Condition {
    return this.shownCondition;
  }

  set condition(condition: Condition) {
    this.shownCondition = condition;
    this.draw();
  }

  /** Why nothing is asked for the document in the active editor; empty: it is. */
  set reasonNotAsked(reason: string) {
    this.notAsked = reason;
    this.draw();
  }

  /** A request begins, or has ended. */
  set working(isWorking: boolean) {
    clearTimeout(this.busyTimer);
    if (isWorking) {
      this.busyTimer = setTimeout(() => {
        this.isBusy = true;
        this.draw();
      }, BUSY_AFTER_MS);
    } else if (this.isBusy) {
      this.isBusy = false;
      this.draw();
    }
  }

  dispose(): void {
    clearTimeout(this.busyTimer);
    this.item.dispose();
  }

  private draw(): void {
    const { text, tooltip, isError } = itemFor(this.shownCondition, this.isBusy, this.notAsked);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = isError ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
  }
}
