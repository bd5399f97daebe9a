import { EventEmitter } from "node:events";
import type { TerminalScreen } from "./terminal-screen.js";

/**
 * Makes what Ink takes for its output: every frame that it writes goes to the screen whole. (Ink's own way of writing clears the terminal at each
 * frame that fills it.)
 */
export function frameStream(screen: TerminalScreen): NodeJS.WriteStream {
  const stream = new EventEmitter();
  Object.defineProperties(stream, {
    columns: { get: () => screen.size.columns },
    rows: { get: () => screen.size.rows },
    isTTY: { value: true },
    write: {
      value: (text: unknown): boolean => {
        if (typeof text === "string" && text !== "") screen.paint(text);
        return true;
      },
    },
  });
  return stream as NodeJS.WriteStream;
}
