import { closeSync, openSync, readSync } from "node:fs";
import { constants, gunzipSync } from "node:zlib";

/** The beginning of a file, by which importers know it. */
export interface FileHead {
  /** Unzipped. */
  readonly text: string;
  readonly isZipped: boolean;
}

const headBytes = 4096;

/** Reads the beginning of a file. */
export function readHead(path: string): FileHead {
  const buffer = Buffer.alloc(headBytes);
  const file = openSync(path, "r");
  try {
    const head = buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
    const isZipped = head[0] === 0x1f && head[1] === 0x8b;
    return { isZipped, text: (isZipped ? unzippedHead(head) : head).toString("utf8") };
  } finally {
    closeSync(file);
  }
}

/** As far as a part of a file can be unzipped; empty where it is damaged. */
function unzippedHead(head: Buffer): Buffer {
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return Buffer.alloc(0);
  }
}
