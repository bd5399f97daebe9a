import { runCommand } from "./run-command.js";
import { root } from "./workspace.js";

/** Builds what has changed since the last build. A package that cannot be built is printed, makes the process fail, and stops no other. */
export async function buildPackages() {
  await runCommand("pnpm", ["run", "build", "--continue", "--output-logs=errors-only"], { cwd: root }).catch(
    (error) => {
      console.error(error.message);
      process.exitCode = 1;
    },
  );
}
