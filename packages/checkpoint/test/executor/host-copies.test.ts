import { openDispatchMode } from "@remat/dispatch-hook";
import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";
import { copyToDevice, copyToHost, evictData, pinData, unpinData } from "@remat/dispatch-hook/residency";
import { nativeApp } from "@remat/testkit";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { beforeAll, describe, expect, test } from "vitest";

const nativeFolder = nativeApp();
const backends: readonly BackendName[] = nativeFolder === undefined ? ["cpu", "wasm"] : ["cpu", "wasm", "tensorflow"];

/** Floats of every kind of bits: quiet and signalling NaNs of both signs with payloads, infinities, zeros of both signs, subnormals. */
const bits = Uint32Array.of(
  0x7fc00001,
  0xffc12345,
  0x7f800001,
  0xff812345,
  0x7f800000,
  0xff800000,
  0,
  0x80000000,
  1,
  0x3f800000,
);

const bytesOf = (tensor: tf.Tensor): number[] => {
  const { buffer, byteOffset, byteLength } = tf.backend().readSync(tensor.dataId) as Float32Array;
  return [...new Uint8Array(buffer, byteOffset, byteLength)];
};

describe.each(backends)("on %s", (backend) => {
  beforeAll(async () => {
    if (backend === "tensorflow") await selectBackend({ backend, from: nativeFolder as string });
    else await tf.setBackend(backend);
  });

  test.each([
    ["float32", () => tf.tensor1d(new Float32Array(bits.buffer))],
    ["int32", () => tf.tensor1d(Int32Array.of(-(2 ** 31), 2 ** 31 - 1, 0, -1), "int32")],
    ["bool", () => tf.tensor1d(Uint8Array.of(1, 0, 1), "bool")],
    ["no values", () => tf.zeros([0, 3])],
  ])(
    "%s moves to host memory and back, bit for bit, as what JavaScript filled and as what a kernel made",
    (_name, make) => {
      const close = openDispatchMode({});
      try {
        const filled = make();
        const made = tf.tidy(() => tf.concat([filled, filled]));
        for (const tensor of [filled, made]) {
          const before = bytesOf(tensor);
          const counted = tf.memory().numBytes;
          pinData(tensor.dataId);
          const copy = copyToHost(tensor.dataId)!;
          evictData([tensor.dataId]);
          copyToDevice(tensor.dataId, copy);
          unpinData(tensor.dataId);
          expect(bytesOf(tensor)).toEqual(before);
          expect(tf.memory().numBytes).toBe(counted);
          // A kernel reads what is back, too.
          const again = tf.tidy(() => tf.concat([tensor, tensor]));
          expect(bytesOf(again)).toEqual([...before, ...before]);
          again.dispose();
        }
        tf.dispose([filled, made]);
      } finally {
        close();
      }
    },
  );
});
