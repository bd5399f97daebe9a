import { startTerminal } from "../../src/index.js";

// Run by a test in a terminal: the app throws an unexpected error while it is on the screen.
await startTerminal({
  targets: ["net"],
  open: () => {
    setTimeout(() => {
      throw new Error("nobody has foreseen this");
    }, 300);
    return new Promise(() => undefined);
  },
  examples: [],
  device: "a100",
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  folder: ".",
});
