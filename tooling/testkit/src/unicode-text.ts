import * as fc from "fast-check";

/** Any code point but a surrogate. */
const codePoint = fc.oneof(
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xd7ff }) },
  { weight: 19, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) },
);

/**
 * Texts of any code points, of ten at most by default. `fc.string({ unit: "binary" })` has the same ones, but builds a
 * table of all of them, which takes half a second and 120 MB in each process.
 */
export const unicodeText = (maxLength = 10): fc.Arbitrary<string> =>
  fc.array(codePoint, { maxLength }).map((points) => String.fromCodePoint(...points));
