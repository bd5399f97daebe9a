import { constants, gunzipSync } from "node:zlib";
import { readInputHead } from "@remat/trace/files";

/** The beginning of a file, by which importers recognise it. */
export interface FileHead {
  /** Unzipped. */
  readonly text: string;
  readonly isZipped: boolean;
}

const headBytes = 4096;
/** Deflate expands one byte to at most 1032. */
const mostUnzipped = headBytes * 1032;

/**
 * Reads the beginning of a file.
 *
 * @throws InputError for a device, a named pipe or a socket; errors of the file system
 */
export function readHead(path: string): FileHead {
  const head = readInputHead(path, headBytes);
  const isZipped = head[0] === 0x1f && head[1] === 0x8b;
  return { isZipped, text: (isZipped ? unzippedHead(head) : head).toString("utf8") };
}

/** Unzips as much of the head as possible. Empty if it is damaged. */
function unzippedHead(head: Buffer): Buffer {
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: mostUnzipped });
  } catch {
    return Buffer.alloc(0);
  }
}
