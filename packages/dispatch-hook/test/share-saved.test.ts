import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { type DispatchMode, openDispatchMode, type SavedTensor, storagesOf, withDispatchMode } from "../src/index.js";
import { programs, runProgram } from "./programs.js";

/** How many of the saved tensors are on the data that they were saved of. */
class Saves implements DispatchMode {
  shared = 0;
  copied = 0;
  copiedBytes = 0;
  tensorsSaved(saved: readonly SavedTensor[]): void {
    for (const { tensor, clone } of saved)
      if (storagesOf(tensor)[0] === storagesOf(clone)[0]) this.shared++;
      else this.copied++;
  }
  storageAllocated(...[{ bytes }, origin]: Parameters<NonNullable<DispatchMode["storageAllocated"]>>): void {
    if (origin === "save") this.copiedBytes += bytes;
  }
}

const gradient = () =>
  tf.tidy(() => [
    ...tf
      .grad((x) => tf.mul(tf.exp(tf.sin(x)), x).sum())(tf.tensor1d([0.5, -1.5, 2, 3]))
      .dataSync(),
  ]);

function saves(sharesSaved: boolean): Saves {
  const mode = new Saves();
  withDispatchMode({ sharesSaved }, () => withDispatchMode(mode, gradient));
  return mode;
}

describe("tensors saved for gradients", () => {
  beforeAll(async () => {
    await tf.setBackend("wasm");
  });

  test("is on the data that it was saved of, where stock copies it", () => {
    const [stock, sharing] = [saves(false), saves(true)];
    expect(stock).toMatchObject({ shared: 0, copied: expect.any(Number) });
    expect(stock.copied).toBeGreaterThan(3);
    expect(sharing).toMatchObject({ shared: stock.copied, copied: 0, copiedBytes: 0 });
  });

  test.each([{}, { releasesEarly: true }, { releasesEarly: true, prunesSaved: true }])(
    "gives what it gives in stock, to the bit, and leaves as much: %o",
    (other) => {
      fc.assert(
        fc.property(programs, (program) => {
          const stock = runProgram(program);
          const close = openDispatchMode({ ...other, sharesSaved: true });
          try {
            expect(runProgram(program)).toEqual(stock);
          } finally {
            close();
          }
        }),
        { numRuns: 40 },
      );
    },
  );

  test("stays what it is in stock for texts, and on backends where nothing is copied", async () => {
    const run = () => {
      const before = tf.memory().numDataBuffers;
      return [gradient(), tf.memory().numDataBuffers - before];
    };
    await tf.setBackend("cpu");
    const onCpu = run();
    expect(withDispatchMode({ sharesSaved: true }, run)).toEqual(onCpu);
    await tf.setBackend("wasm");
    const text = () =>
      tf.tidy(() => {
        const identity = tf.customGrad((x, save) => {
          (save as (tensors: tf.Tensor[]) => void)([tf.tensor(["a", "b"])]);
          return { value: tf.square(x as tf.Tensor), gradFunc: (dy, saved) => tf.mul(dy, saved[0].dataSync().length) };
        });
        return [
          ...tf
            .grad((x) => identity(x).sum())(tf.tensor1d([1, 2]))
            .dataSync(),
        ];
      });
    expect(withDispatchMode({ sharesSaved: true }, text)).toEqual([2, 2]);
  });
});
