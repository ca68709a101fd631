// Runs the program for one answer.

import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { promisify } from "node:util";

const run = promisify(execFile);
const TIMEOUT_MS = 30_000;

/** What `completiond ARGS` prints. Raises an error with its message where it fails. */
export async function output(program: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(program, args, { cwd: homedir(), timeout: TIMEOUT_MS });
  return stdout;
}
