import type { Environment } from "@remat/dispatch-hook/backends/node";
import { type CommandResult, runCommand } from "./run-command.js";

/**
 * Runs Python without anything of the current folder's or of the environment's: `python3 -m pip` would run a `./pip` that lies there, and take a
 * `./tensorflow` for installed.
 *
 * @internal
 */
export function runPython(args: readonly string[], env: Environment): Promise<CommandResult> {
  return runCommand("python3", ["-I", ...args], { cwd: "/", env });
}
