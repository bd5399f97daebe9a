import { Inflate } from "fflate";

/** Compressed bytes per step. Deflate expands a byte to at most 1032, so at most 4 MB are pending. */
const step = 1 << 12;

/**
 * Unpacks deflated bytes to the declared size. It stops as soon as there are more, so nothing larger is allocated.
 *
 * @throws Error if there are more or fewer bytes
 */
export function inflateExactly(packed: Uint8Array, declared: number): Uint8Array {
  const ratio = 1032;
  if (declared > ratio * packed.length + ratio)
    throw new Error(`${packed.length} compressed bytes cannot contain the declared ${declared}`);
  const out = new Uint8Array(declared);
  let length = 0;
  const inflate = new Inflate((data) => {
    if (length + data.length > declared) throw new Error(`it unpacks to more than the declared ${declared} bytes`);
    out.set(data, length);
    length += data.length;
  });
  for (let at = 0; at === 0 || at < packed.length; at += step)
    inflate.push(packed.subarray(at, at + step), at + step >= packed.length);
  if (length !== declared) throw new Error(`it unpacks to ${length} bytes, not to the declared ${declared}`);
  return out;
}
