// Runs the command after its files are loaded.
import { runCli } from "./cli.js";
import { allowClosedPipe, askTerminal, ignoreErrors, onInterrupt, terminalColumns } from "./console-io.js";
import { reportEarlyEnd, reportFullOutput } from "./early-end.js";
import { deepestStack } from "./model-code-error.js";

// Hides TensorFlow's messages on loading. Its errors are shown.
process.env["TF_CPP_MIN_LOG_LEVEL"] ??= "2";
Error.stackTraceLimit = deepestStack;
const over = reportEarlyEnd();
reportFullOutput(process.stdout, () => {
  over();
  process.exit(1);
});
allowClosedPipe(process.stdout);
ignoreErrors(process.stderr);
process.exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  ...(!process.stdin.isTTY && { stdin: process.stdin }),
  ...(process.stdout.isTTY && { width: terminalColumns(process.stdout), hasColors: true }),
  ...(process.stdin.isTTY && process.stdout.isTTY && { terminal: { stdin: process.stdin, stdout: process.stdout } }),
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask: askTerminal }),
  onInterrupt,
});
over();
