import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { transformImages } from "../src/layers/transform-images.js";

it("transforms as tfjs's own kernel does, which not every backend has", () => {
  const size = fc.integer({ min: 1, max: 6 });
  const number = fc.integer({ min: -30, max: 30 }).map((tenths) => tenths / 8 + 0.03);
  const sample = fc.array(number, { minLength: 6, maxLength: 6 });
  const options = fc.record({
    fillMode: fc.constantFrom("reflect" as const, "wrap" as const, "constant" as const, "nearest" as const),
    fillValue: fc.constantFrom(0, 0.5),
    interpolation: fc.constantFrom("bilinear" as const, "nearest" as const),
  });
  fc.assert(
    fc.property(
      size,
      size,
      fc.array(sample, { minLength: 1, maxLength: 3 }),
      options,
      (height, width, rows, chosen) => {
        tf.tidy(() => {
          const { interpolation, fillMode, fillValue } = chosen;
          const x = tf.reshape(tf.sin(tf.range(0, rows.length * height * width * 2)), [rows.length, height, width, 2]);
          // One by one: the kernel of the backend cpu makes nothing of all samples but the first.
          const each = tf.split(x, rows.length).map((image, i) => {
            const transform = tf.tensor2d([[...(rows[i] as number[]), 0, 0]]);
            return tf.image.transform(image as tf.Tensor4D, transform, interpolation, fillMode, fillValue);
          });
          const expected = tf.concat(each).dataSync();
          const parts = tf.split(tf.tensor2d(rows), 6, 1);
          const found = transformImages(x, parts, chosen);
          expect(found.shape).toEqual(x.shape);
          found.dataSync().forEach((value, i) => {
            expect(Math.abs(value - (expected[i] as number))).toBeLessThan(1.5e-5); // 1.6e-6
          });
        });
      },
    ),
    { numRuns: 200 },
  );
});
