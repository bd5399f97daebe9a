import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { nativeApp } from "@remat/testkit";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { releaseEarly } from "../src/index.js";
import { nestedPrograms, runNested } from "./nested-gradients.js";

function early<T>(run: () => T): T {
  const stop = releaseEarly();
  try {
    return run();
  } finally {
    stop();
  }
}

function equalsStock(numRuns: number): void {
  fc.assert(
    fc.property(nestedPrograms, (program) => {
      const stock = runNested(program);
      expect(early(() => runNested(program))).toEqual(stock);
    }),
    { numRuns },
  );
}

describe("gradients in gradients of random programs are stock's, to the bit", () => {
  test("on cpu", async () => {
    await tf.setBackend("cpu");
    equalsStock(200);
  });

  const nativeFolder = nativeApp();
  describe.runIf(nativeFolder !== undefined)("on tensorflow", () => {
    beforeAll(async () => {
      await selectBackend({ backend: "tensorflow", from: nativeFolder as string });
    });
    test("on tensorflow", () => equalsStock(100));
  });
});
