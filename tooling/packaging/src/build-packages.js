import { runCommand } from "./run-command.js";
import { root } from "./workspace.js";

/**
 * Builds everything that has changed since the last build. A package that fails to build is printed and makes the
 * process fail, without stopping others.
 */
export async function buildPackages() {
  await runCommand("pnpm", ["run", "build", "--continue", "--output-logs=errors-only"], { cwd: root }).catch(
    (error) => {
      console.error(error.message);
      process.exitCode = 1;
    },
  );
}
