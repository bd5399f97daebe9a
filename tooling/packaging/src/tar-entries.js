import { gunzipSync } from "node:zlib";

const blockBytes = 512;

/**
 * Names of the files in a `.tgz`, from the headers of the ustar format.
 *
 * @param {Uint8Array} tgz
 * @returns {readonly string[]}
 */
export function tarEntries(tgz) {
  const tar = gunzipSync(tgz);
  const text = (/** @type {number} */ start, /** @type {number} */ length) => {
    const end = tar.indexOf(0, start);
    return tar.toString("utf8", start, end < 0 ? start + length : Math.min(end, start + length));
  };
  const names = [];
  for (let at = 0; at + blockBytes <= tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12).trim() || "0", 8);
    const prefix = text(at + 345, 155);
    const kind = tar[at + 156];
    if (kind === 0 || kind === 0x30) names.push(prefix === "" ? text(at, 100) : `${prefix}/${text(at, 100)}`);
    at += blockBytes * (1 + Math.ceil(size / blockBytes));
  }
  return names;
}
