import { openDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CollectArrays } from "../src/run/collect-arrays.js";

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("arrays that tensors were made from", () => {
  it("are collected as soon as an op has read 64 MiB of them, and what ops make is not counted", async () => {
    await tf.setBackend("cpu");
    let collected = 0;
    vi.stubGlobal("gc", () => void collected++);
    const read = () => tf.tidy(() => void tf.neg(tf.tensor1d(new Float32Array(4 << 20))));
    const close = openDispatchMode(new CollectArrays());
    const seen: number[] = [];
    try {
      for (let i = 0; i < 9; i++) {
        read();
        seen.push(collected);
      }
      // As much in results as would do.
      tf.tidy(() => {
        const x = tf.tensor1d(new Float32Array(4 << 20));
        for (let i = 0; i < 5; i++) tf.neg(x);
      });
      seen.push(collected);
    } finally {
      close();
    }
    for (let i = 0; i < 5; i++) read();
    expect([...seen, collected]).toEqual([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
  });

  it("stay where Node does not let anybody collect", async () => {
    await tf.setBackend("cpu");
    vi.stubGlobal("gc", undefined);
    const close = openDispatchMode(new CollectArrays());
    try {
      expect(tf.tidy(() => tf.neg(tf.tensor1d(new Float32Array(16 << 20))).shape)).toEqual([16 << 20]);
    } finally {
      close();
    }
  });
});
