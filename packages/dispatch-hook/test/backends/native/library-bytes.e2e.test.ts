import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nativeApp } from "@remat/testkit";
import { TraceBuilder } from "@remat/trace";
import { describe, expect, it, test } from "vitest";
import { findBackend, mostLibraryBytes, type OpShapes, usesOneDnn } from "../../../src/backends/index.js";
import { native } from "../../../src/backends/native/native.js";

const mebibyte = 2 ** 20;

/** The first convolution of ResNet-50 with 8 samples. */
const convolution: OpShapes = {
  kernel: "Conv2D",
  inputs: [
    [8, 230, 230, 3],
    [7, 7, 3, 64],
  ],
  outputs: [[8, 112, 112, 64]],
};

const ops: readonly OpShapes[] = [
  convolution,
  {
    kernel: "Conv2D",
    inputs: [
      [16, 14, 14, 1024],
      [1, 1, 1024, 256],
    ],
    outputs: [[16, 14, 14, 256]],
  },
  {
    kernel: "Conv2DBackpropFilter",
    inputs: [
      [8, 56, 56, 64],
      [8, 56, 56, 64],
    ],
    outputs: [[3, 3, 64, 64]],
  },
  {
    kernel: "Conv2DBackpropFilter",
    inputs: [
      [64, 7, 7, 512],
      [64, 7, 7, 512],
    ],
    outputs: [[3, 3, 512, 512]],
  },
  {
    kernel: "Conv2DBackpropInput",
    inputs: [
      [4, 224, 224, 64],
      [3, 3, 64, 64],
    ],
    outputs: [[4, 224, 224, 64]],
  },
  {
    kernel: "BatchMatMul",
    inputs: [
      [1, 16_384, 512],
      [1, 16_384, 2048],
    ],
    outputs: [[1, 512, 2048]],
  },
  {
    kernel: "MaxPoolGrad",
    inputs: [
      [16, 56, 56, 64],
      [16, 112, 112, 64],
      [16, 56, 56, 64],
    ],
    outputs: [[16, 112, 112, 64]],
  },
];

describe("memory of TensorFlow's kernels other than tensors", () => {
  it("is, by Eigen, two blocks of at most 320 of each patch", () => {
    // 8 × 112 × 112 patches of 7 × 7 × 3 = 147, which is one block, and the filter.
    expect(native.libraryBytes!(convolution, false)).toBe(4 * (8 * 112 * 112 + 64) * 147);
    // 1024 in four slices of 256, of which two at once.
    expect(native.libraryBytes!(ops[1], false)).toBe(4 * (16 * 14 * 14 + 256) * 512);
    // 4 samples at once make 30 MB of patches; then their product, in blocks of 314 padded to 320, and the sum.
    expect(native.libraryBytes!(ops[2], false)).toBe(4 * 576 * (4 * 3136 + 64) + 4 * (576 + 64) * 2 * 320);
  });

  it("is, by oneDNN, a filter in another order", () => {
    expect(native.libraryBytes!(convolution, true)).toBe(4 * 7 * 7 * 3 * 64);
    expect(native.libraryBytes!(ops[5], true)).toBe(0);
  });

  it("is of a step what the op takes that takes most, and nothing on other backends", () => {
    const traceOn = (backend: string) => {
      const builder = new TraceBuilder({
        framework: "tfjs",
        backend,
        device: "cpu",
        mode: "fake",
        allocationUnitBytes: 1,
      });
      const tensorOf = (shape: readonly number[]) =>
        builder.tensor({
          storage: builder.allocate(4 * shape.reduce((a, b) => a * b)),
          dtype: "float32",
          shape,
        });
      for (const { kernel, inputs, outputs } of ops)
        builder.op({ name: kernel, inputs: inputs.map(tensorOf), outputs: outputs.map(tensorOf) });
      return builder.build();
    };
    expect(mostLibraryBytes(traceOn("tensorflow"), false)).toBe(
      Math.max(...ops.map((op) => native.libraryBytes!(op, false))),
    );
    expect(findBackend("wasm").libraryBytes).toBeUndefined();
    expect(mostLibraryBytes(traceOn("wasm"), false)).toBe(0);
  });
});

/** Memory of any kernel regardless of its op: code, and a block per thread. */
const slackBytes = 3 * mebibyte;

const app = nativeApp();

describe.runIf(app !== undefined)("resident memory while a kernel of TensorFlow runs", () => {
  test.each([false, true])(
    "is no more than what is said, and no less where that is sure (oneDNN: %s)",
    (isByOneDnn) => {
      const child = fileURLToPath(new URL("measure-library.mjs", import.meta.url));
      const { stdout, stderr, status } = spawnSync(process.execPath, ["--expose-gc", child, JSON.stringify(ops)], {
        encoding: "utf8",
        env: {
          ...process.env,
          TF_CPP_MIN_LOG_LEVEL: "0",
          TF_ENABLE_ONEDNN_OPTS: isByOneDnn ? "1" : "0",
          // Freed memory is returned immediately, so that all memory of a kernel shows.
          TF_ONEDNN_USE_SYSTEM_ALLOCATOR: "1",
          MALLOC_MMAP_THRESHOLD_: "65536",
          MALLOC_TRIM_THRESHOLD_: "65536",
        },
      });
      if (status !== 0) throw new Error(stderr);
      expect(/oneDNN custom operations are on/.test(stderr)).toBe(isByOneDnn);
      const measured = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as readonly number[];
      measured.forEach((bytes, i) => {
        const said = native.libraryBytes!(ops[i], isByOneDnn);
        expect(bytes, ops[i].kernel).toBeLessThanOrEqual(said + slackBytes);
        // If there are many blocks for the available threads, Eigen packs one per thread, which depends on the machine.
        if (ops[i].kernel !== "Conv2D") expect(bytes, ops[i].kernel).toBeGreaterThan(0.9 * said - mebibyte);
      });
    },
  );

  it("is by oneDNN where TensorFlow says so", () => {
    const child = fileURLToPath(new URL("measure-library.mjs", import.meta.url));
    const { TF_ENABLE_ONEDNN_OPTS: _, ...env } = process.env;
    const { stderr } = spawnSync(process.execPath, ["--expose-gc", child, "[]"], {
      encoding: "utf8",
      env: { ...env, TF_CPP_MIN_LOG_LEVEL: "0" },
    });
    expect(usesOneDnn()).toBe(/oneDNN custom operations are on/.test(stderr));
  });
});
