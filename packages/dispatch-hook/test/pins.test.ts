import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test } from "vitest";
import { withDispatchMode } from "../src/index.js";
import { pinData, unpinData } from "../src/residency/index.js";

const counts = () => ({ ...tf.memory(), dataIds: (tf.backend() as tf.KernelBackend).numDataIds() });

describe("pinned data", () => {
  beforeEach(async () => {
    await tf.setBackend("cpu");
  });

  test("stays when the last tensor on it goes, is told once, and is counted by nobody", () => {
    const before = counts();
    const unused: unknown[] = [];
    withDispatchMode({ dataUnused: (dataId) => unused.push(dataId) }, () => {
      const x = tf.tensor1d([1, 2, 3]);
      const { dataId } = x;
      const copy = x.clone();
      pinData(dataId);
      pinData(dataId);
      expect(counts()).toMatchObject({ numDataBuffers: before.numDataBuffers + 1, dataIds: before.dataIds + 1 });
      x.dispose();
      expect(unused).toEqual([]);
      copy.dispose();
      expect(unused).toEqual([dataId]);
      expect(counts()).toEqual(before);
      expect([...(tf.backend().readSync(dataId) as Float32Array)]).toEqual([1, 2, 3]);
      unpinData(dataId);
      expect(counts()).toEqual(before);
      expect(() => tf.backend().readSync(dataId)).toThrow(TypeError);
    });
    expect(counts()).toEqual(before);
  });

  test("goes with its tensor when it was unpinned before", () => {
    const before = counts();
    withDispatchMode({}, () => {
      const x = tf.tensor1d([1, 2, 3]);
      pinData(x.dataId);
      unpinData(x.dataId);
      expect(counts().numDataBuffers).toBe(before.numDataBuffers + 1);
      x.dispose();
      expect(counts()).toEqual(before);
    });
  });

  test("can be what no backend keeps, as a kernel may return it: then nothing is held", () => {
    const before = counts();
    withDispatchMode({}, () => {
      const nowhere = {};
      pinData(nowhere);
      unpinData(nowhere);
    });
    expect(counts()).toEqual(before);
  });
});
