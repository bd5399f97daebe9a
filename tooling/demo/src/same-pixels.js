import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** Share of pixels that may differ: another version of a font moves the edges of letters. */
const mostDifferent = 0.02;

/**
 * Compares two PNG pictures by their pixels.
 *
 * @param {Buffer} committed
 * @param {Buffer} drawn
 * @returns {string | undefined} how much differs
 */
export function samePixels(committed, drawn) {
  const [before, after] = [PNG.sync.read(committed), PNG.sync.read(drawn)];
  const { width, height } = before;
  if (width !== after.width || height !== after.height)
    return `it was ${width} by ${height} pixels and is ${after.width} by ${after.height}`;
  const share = pixelmatch(before.data, after.data, undefined, width, height) / (width * height);
  return share <= mostDifferent ? undefined : `${(100 * share).toFixed(1)}% of its pixels differ`;
}
