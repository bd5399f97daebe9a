import type { TerminalText } from "@remat/trace/emit";

/**
 * Where a command writes: the process's streams or a test's. Text is escaped for terminals, so that no name in it acts
 * as a control sequence.
 */
export interface ConsoleIo {
  readonly stdout: { write(text: TerminalText | Uint8Array): unknown };
  readonly stderr: {
    write(text: TerminalText): unknown;
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Maximum columns of the output. Left out: unlimited, as for a file or a pipe. */
  readonly width?: number | undefined;
  /** True if the output may have colours. Left out: no. */
  readonly hasColors?: boolean;
  /** Present if input and output are both a terminal. */
  readonly terminal?: { readonly stdin: NodeJS.ReadStream; readonly stdout: NodeJS.WriteStream };
  /** Source for `-` in place of a file. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Asks a yes-or-no question. Left out if no user can be asked. */
  readonly ask?: (question: string) => Promise<boolean>;
  /** Makes Ctrl-C call `listener` once instead of ending the process. Returns a function that undoes this. */
  readonly onInterrupt?: (listener: () => void) => () => void;
}

/** Width of a terminal that does not report one. */
const usualColumns = 80;

/** Returns the columns of a terminal. Some, such as a serial line, report none. */
export function terminalColumns({ columns }: { readonly columns?: number }): number {
  return columns || usualColumns;
}

/** Implements {@link ConsoleIo.onInterrupt}: the first Ctrl-C asks to stop, the second ends the process. */
export function onInterrupt(listener: () => void): () => void {
  process.once("SIGINT", listener);
  return () => process.off("SIGINT", listener);
}

/** Asks on the terminal, for {@link ConsoleIo.ask}. Anything but yes counts as no. */
export async function askTerminal(question: string): Promise<boolean> {
  // Imported here because few commands ask.
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await terminal.question(`${question} [y/N] `));
  } finally {
    terminal.close();
  }
}

/** Error codes of a stream whose reader has closed: a pipe, a socket, or a stream closed by an earlier error. */
const closedCodes: ReadonlySet<string> = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "EOF"]);

/** Returns whether an error means that the reader of an output stream has closed it, as `head` does. */
export function isClosedPipe({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && closedCodes.has(code);
}

/** Allows the reader of `stream` to close it early (`remat … | head`). Other errors are thrown. */
export function allowClosedPipe(stream: NodeJS.EventEmitter): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (!isClosedPipe(error)) throw error;
  });
}

/**
 * Ignores every error of `stream`, which is standard error. Exit codes are for scripts and must not depend on whether a
 * message could be printed.
 */
export function ignoreErrors(stream: NodeJS.EventEmitter): void {
  stream.on("error", () => undefined);
}
