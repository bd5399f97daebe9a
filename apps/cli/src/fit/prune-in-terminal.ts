import { emitKeypressEvents } from "node:readline";
import type { FitSummary } from "@remat/fit";
import { terminalColumns } from "../console-io.js";
import { drawMatrix, firstMatrixState, leftIn, type MatrixState, pressKey } from "./matrix-screen.js";

const usualRows = 24;
/** Switches to the alternate screen, so that the previous content is restored at the end. */
const open = "\u001b[?1049h\u001b[?25l";
const close = "\u001b[?25h\u001b[?1049l";

/** Keys that Node names differently. */
const names: Readonly<Record<string, string>> = {
  return: "enter",
  escape: "esc",
  h: "left",
  j: "down",
  k: "up",
  l: "right",
};

/** Shows the results as a matrix from which keys exclude values, and returns the rest. Ctrl-C also ends it. */
export async function pruneInTerminal(
  summary: FitSummary,
  { stdin, stdout }: { readonly stdin: NodeJS.ReadStream; readonly stdout: NodeJS.WriteStream },
): Promise<FitSummary> {
  let state: MatrixState = firstMatrixState;
  const draw = (): void => {
    const size = { columns: terminalColumns(stdout), rows: stdout.rows || usualRows };
    stdout.write(`\u001b[H\u001b[J${drawMatrix(summary, state, size).slice(0, size.rows).join("\r\n")}`);
  };
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.resume();
  stdout.write(open);
  try {
    await new Promise<void>((resolve) => {
      const onKey = (_text: string | undefined, key: { readonly name?: string; readonly ctrl?: boolean }): void => {
        const name = key.name ?? "";
        const next =
          key.ctrl === true ? (name === "c" ? undefined : state) : pressKey(summary, state, names[name] ?? name);
        if (next === undefined) {
          stdin.off("keypress", onKey);
          stdout.off("resize", draw);
          resolve();
          return;
        }
        state = next;
        draw();
      };
      stdin.on("keypress", onKey);
      stdout.on("resize", draw);
      draw();
    });
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stdout.write(close);
  }
  return leftIn(summary, state);
}
