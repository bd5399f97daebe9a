import { EventEmitter } from "node:events";

/** Makes what Ink takes for a terminal that it writes to, and nothing comes of. */
export function noOutput(): NodeJS.WriteStream {
  const stream = Object.assign(new EventEmitter(), { columns: 80, rows: 24, isTTY: true, write: () => true });
  return stream as unknown as NodeJS.WriteStream;
}
