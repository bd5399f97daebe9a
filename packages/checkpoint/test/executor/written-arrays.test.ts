import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test } from "vitest";
import { EvictingPolicy, evicting } from "./evict-all.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

/** A program that uses what it reads in the middle of a pass as room to work in: on all backends but cpu, that is a copy. */
function gradient(read: (tensor: tf.Tensor) => void): number[] {
  return tf.tidy(() => {
    const input = tf.tensor1d([0.5, -1.5, 2, 3]);
    const of = tf.grad((x) => {
      const scaled = tf.mul(x, input);
      const h = tf.exp(tf.sin(scaled));
      read(scaled);
      read(input);
      const y = tf.tanh(tf.mul(h, scaled));
      read(h);
      read(y);
      return tf.mul(y, h).sum();
    });
    return Array.from(of(tf.tensor1d([1, 2, -0.5, 0.25])).dataSync());
  });
}

const ways: Record<string, (tensor: tf.Tensor) => void> = {
  dataSync: (tensor) => void (tensor.dataSync() as Float32Array).fill(7),
  bufferSync: (tensor) => {
    const { values } = tensor.bufferSync();
    values.fill(7);
  },
};

describe.each(Object.entries(ways))("arrays of %s that are written to in the middle of a pass", (_name, write) => {
  test("change nothing of what is recomputed, to the bit", () => {
    const stock = gradient(() => {});
    const policy = new EvictingPolicy();
    expect(evicting(() => gradient(write), policy)).toEqual(stock);
    expect(policy.replays).toBeGreaterThan(0);
  });

  test("are the data itself again after the pass", () => {
    evicting(() => {
      const x = tf.tensor1d([1, 2]);
      write(x);
      expect([...x.dataSync()]).toEqual([7, 7]);
      x.dispose();
    });
  });
});
