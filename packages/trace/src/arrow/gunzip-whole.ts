import { gunzip } from "../gunzip.js";
import { RematError } from "../remat-error.js";
import { nodeZlib } from "./compression.js";

/** The largest array of Node 20. */
const mostBytes = 2 ** 31 - 1;

/**
 * Decompresses a gzip file as a whole, with Node's decompressor if there is one.
 *
 * @throws RematError `TRACE_CORRUPT`
 */
export function gunzipWhole(bytes: Uint8Array, name: string): Uint8Array {
  const zlib = nodeZlib();
  try {
    return zlib === undefined ? gunzipPieces(bytes) : zlib.gunzipSync(bytes, { maxOutputLength: mostBytes });
  } catch (cause) {
    throw new RematError(
      "TRACE_CORRUPT",
      `${name}: the gzip data is damaged or ends early (${(cause as Error).message}). Copy or write the file again.`,
      { cause },
    );
  }
}

function gunzipPieces(bytes: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const state = gunzip([bytes], (piece) => {
    length += piece.length;
    if (length > mostBytes) throw new RangeError(`it has more than ${mostBytes} bytes`);
    pieces.push(piece);
    return true;
  });
  if (state !== "whole") throw new Error(state === "damaged" ? "its checksum does not match" : "it breaks off");
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
