import { createInterface } from "node:readline/promises";
import type { TerminalText } from "@remat/trace/emit";

/** Where a command writes: the process's streams, or a test's. What it writes was built for a terminal, so that no name in it is obeyed. */
export interface ConsoleIo {
  readonly stdout: { write(text: TerminalText | Uint8Array): unknown };
  readonly stderr: {
    write(text: TerminalText): unknown;
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Columns that what is printed may take; left out: as many as it needs, as for a file or a pipe. */
  readonly width?: number | undefined;
  /** Whether what is printed may have colours; left out: no. */
  readonly hasColors?: boolean;
  /** Where input and output both are a terminal. */
  readonly terminal?: { readonly stdin: NodeJS.ReadStream; readonly stdout: NodeJS.WriteStream };
  /** What `-` in place of a file is read from. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Asks a question that is answered by yes or no; left out where nobody can be asked. */
  readonly ask?: (question: string) => Promise<boolean>;
  /** Has Ctrl-C call `listener`, once, in place of ending the process; returns what undoes that. */
  readonly onInterrupt?: (listener: () => void) => () => void;
}

/** What a terminal is taken for that does not tell how wide it is. */
const usualColumns = 80;

/** Returns the columns of a terminal; some, such as a serial line, say that they have none. */
export function terminalColumns({ columns }: { readonly columns?: number }): number {
  return columns || usualColumns;
}

/** Listens for {@link ConsoleIo.onInterrupt}: the first Ctrl-C is a wish to stop, the second one ends the process. */
export function onInterrupt(listener: () => void): () => void {
  process.once("SIGINT", listener);
  return () => process.off("SIGINT", listener);
}

/** Asks on the terminal, for {@link ConsoleIo.ask}; what is not a yes is a no. */
export async function askTerminal(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await terminal.question(`${question} [y/N] `));
  } finally {
    terminal.close();
  }
}

/** Error codes of a stream whose reader has left: a pipe, a socket, or a stream that was closed by an earlier error. */
const closedCodes: ReadonlySet<string> = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "EOF"]);

/** Returns whether an error says that the reader of an output stream has left, as `head` does. */
export function isClosedPipe({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && closedCodes.has(code);
}

/** Lets the reader of `stream` leave early (`remat … | head`). Other errors are thrown. */
export function allowClosedPipe(stream: NodeJS.EventEmitter): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (!isClosedPipe(error)) throw error;
  });
}

/**
 * Ignores every error of `stream`, which is standard error. A message that nobody can read must not change the exit code, which is the answer for scripts.
 */
export function ignoreErrors(stream: NodeJS.EventEmitter): void {
  stream.on("error", () => undefined);
}
