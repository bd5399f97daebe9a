import type { Environment } from "@remat/dispatch-hook/backends/node";
import { type CommandResult, runCommand } from "./run-command.js";

/**
 * Runs Python isolated from the current folder and the environment. Otherwise `python3 -m pip` would run a `./pip` in
 * the folder, and treat a `./tensorflow` as installed.
 *
 * @internal
 */
export function runPython(args: readonly string[], env: Environment): Promise<CommandResult> {
  return runCommand("python3", ["-I", ...args], { cwd: "/", env });
}
