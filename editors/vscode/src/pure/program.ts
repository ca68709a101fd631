// Where the program `completiond` is looked for.

import * as path from "node:path";

/** What the search depends on. */
export interface Surroundings {
  /** The setting `completiond.path`; empty: not set. */
  readonly setting: string;
  /** The environment variable PATH. */
  readonly searchPath: string;
  readonly home: string;
  /** Folders of the workspace; looked into only if it is trusted. */
  readonly folders: readonly string[];
  readonly isTrusted: boolean;
}

export const PROGRAM = "completiond";

/** The files to try, the best first. With a setting there is only that one: another program would be a surprise. */
export function candidates(around: Surroundings): string[] {
  const setting = around.setting.trim();
  if (setting !== "") {
    return [withHome(setting, around.home)];
  }
  const found: string[] = [];
  for (const folder of around.searchPath.split(path.delimiter)) {
    if (path.isAbsolute(folder)) {
      // A relative one would be looked up in whatever folder is open.
      found.push(path.join(folder, PROGRAM));
    }
  }
  found.push(path.join(around.home, ".local", "bin", PROGRAM));
  if (around.isTrusted) {
    for (const folder of around.folders) {
      found.push(path.join(folder, ".venv", "bin", PROGRAM));
    }
  }
  return [...new Set(found)];
}

/** The first candidate that can be run. */
export async function findProgram(
  around: Surroundings,
  canRun: (file: string) => Promise<boolean>,
): Promise<string | undefined> {
  for (const file of candidates(around)) {
    if (path.isAbsolute(file) && (await canRun(file))) {
      return file;
    }
  }
  return undefined;
}

function withHome(file: string, home: string): string {
  return file === "~" || file.startsWith("~/") ? path.join(home, file.slice(1)) : file;
}
