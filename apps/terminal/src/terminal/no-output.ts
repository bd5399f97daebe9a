import { EventEmitter } from "node:events";

/** Returns a stream that Ink accepts as a terminal and that discards its output. */
export function noOutput(): NodeJS.WriteStream {
  const stream = Object.assign(new EventEmitter(), { columns: 80, rows: 24, isTTY: true, write: () => true });
  return stream as unknown as NodeJS.WriteStream;
}
