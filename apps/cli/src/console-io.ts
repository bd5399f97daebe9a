/** Where a command writes: the process's streams, or a test's. */
export interface ConsoleIo {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A reader that has seen enough (`remat … | head`) closes the pipe: that is no failure. Other errors of `stream` are thrown. */
export function allowClosedPipe(stream: NodeJS.EventEmitter): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}
