import { nativeApp } from "@remat/testkit";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { withDispatchModeSync } from "@remat/dispatch-hook";
import { type BackendName, provideGradientKernels } from "@remat/dispatch-hook/backends";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kernelsOf as kernelsOfBackend } from "../../src/backends/kernel-rules.js";
import { fakeableBackend } from "../../src/fake/fakeable-backend.js";
import { fakeMode } from "../../src/fake/index.js";
import { allGenerators } from "../kernels/generators/all-generators.js";
import { type KernelCase, kernelCase, type TensorSpec, t } from "../kernels/generators/kernel-case.js";
import { kernelMemory } from "./kernel-memory.js";

/** Native is compared where a folder is named in which tfjs-node is installed with its addon. */
const nativeFolder = nativeApp();
type Compared = "cpu" | "wasm" | "tensorflow";
const kernelsOf = (name: BackendName): readonly string[] => kernelsOfBackend(fakeableBackend(name).kernels);
const scratchKernels = (name: BackendName): readonly string[] => Object.keys(fakeableBackend(name).kernels.scratch);
const backends: readonly Compared[] = nativeFolder === undefined ? ["cpu", "wasm"] : ["cpu", "wasm", "tensorflow"];

/** The text of strings is not known in fake mode, so it has no size there. */
const strings = "StringNGrams StringSplit StringToHashBucketFast";
/** Results whose shapes depend on values. */
const shapedByData = "NonMaxSuppressionV3 NonMaxSuppressionV5 Unique";
const ragged = "RaggedGather RaggedRange RaggedTensorToTensor SparseFillEmptyRows";

/** Kernels that are never compared. On wasm, where the C++ half does not run, the first NonMaxSuppression finds nothing. */
const notCompared: Readonly<Record<Compared, string>> = {
  cpu: `Draw ${shapedByData} ${ragged} ${strings} StaticRegexReplace`,
  wasm: `NonMaxSuppressionV4 ${shapedByData} SparseFillEmptyRows ${strings}`,
  tensorflow: `${shapedByData} StaticRegexReplace`,
};

/** Kernels whose scratch fake mode does not know. A Fourier transform calls itself: too often to be told event by event. */
const unknownScratch: Readonly<Record<Compared, readonly string[]>> = {
  cpu: ["FFT", "IFFT"],
  wasm: [],
  tensorflow: [],
};

/** The cpu backend allots a product too little where each operand is broadcast along a dimension of the other. */
function isBroadcastBothWays({ inputs }: KernelCase): boolean {
  const { a, b } = inputs as Readonly<Record<string, TensorSpec>>;
  const [m, n] = [a, b].map(({ shape }) => shape.slice(0, -2).reduce((size, length) => size * length, 1));
  const batches = tf.broadcast_util.assertAndGetBroadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  return tf.util.sizeFromShape(batches) !== Math.max(m, n);
}

function isCompared(backend: BackendName, kernel: string, of: KernelCase): boolean {
  const { inputs, attributes } = of;
  if (JSON.stringify([inputs, attributes]).includes('"string"')) return false;
  if (backend === "wasm" && kernel === "GatherV2") return attributes?.batchDims !== undefined;
  // tfjs-node hands TensorFlow strides and dilations as if channels came last, and no block below 2.
  if (backend === "tensorflow") return attributes?.dataFormat !== "NCHW" && attributes?.blockSize !== 1;
  return true;
}

const fused = (activation: string, bias: boolean): KernelCase =>
  kernelCase(
    { a: t([2, 3, 4]), b: t([2, 4, 5]), ...(bias ? { bias: t([5]) } : {}) },
    { transposeA: false, transposeB: false, activation },
  );

/**
 * Cases that the generators hardly ever create: on wasm a fused product only accepts batches of matrices and a vector.
 */
const moreCases: Readonly<Record<string, readonly KernelCase[]>> = {
  _FusedMatMul: [fused("linear", false), fused("relu", true), fused("linear", true)],
};

/**
 * Lets the JavaScript half of the wasm kernels run without the C++ half, which computes: what they allocate is the same, and inputs that
 * the C++ half would not check do no harm. Returns what puts it back.
 */
function withoutComputing(): () => void {
  const kernels = tf.getKernelsForBackend("wasm");
  const setUp = (wasm: unknown): void => {
    for (const { setupFunc } of kernels) setupFunc?.(wasm as tf.KernelBackend);
  };
  setUp({ wasm: { cwrap: () => () => 0 } });
  return () => setUp(tf.findBackend("wasm"));
}

describe.each(backends)("while a kernel runs, fake mode allocates and releases what %s does", (backend) => {
  const compared = new Set<string>();
  const withScratch = new Set<string>();
  let restore = (): void => undefined;

  beforeAll(async () => {
    if (backend === "tensorflow") await selectBackend({ backend, from: nativeFolder as string });
    else await tf.setBackend(backend);
    if (backend === "wasm") {
      provideGradientKernels();
      restore = withoutComputing();
    }
  });
  afterAll(() => restore());

  /** Each in a mode that is opened once: to open it takes longer than a kernel. */
  function compare(kernel: string, cases: readonly KernelCase[]): void {
    const fakes = fakeMode(() => cases.map((of) => kernelMemory(kernel, of)), { backend });
    const known = cases.flatMap((of, i) => {
      if (fakes[i].error !== undefined) return [];
      if (backend === "cpu" && kernel.endsWith("MatMul") && isBroadcastBothWays(of)) return [];
      return [{ of, fake: fakes[i] }];
    });
    const reals = withDispatchModeSync({}, () => known.map(({ of }) => kernelMemory(kernel, of)));
    for (const [i, { of, fake }] of known.entries()) {
      const real = reals[i];
      if (real.error !== undefined || !real.wellFormed) continue;
      compared.add(kernel);
      if (real.scratch) withScratch.add(kernel);
      if (!unknownScratch[backend].includes(kernel)) expect(fake.events, JSON.stringify(of)).toEqual(real.events);
    }
  }

  test.each(kernelsOf(backend).map((kernel) => [kernel]))("%s", (kernel) => {
    const drawn = fc.sample(allGenerators[kernel], { seed: 20_241_121, numRuns: 50 });
    compare(
      kernel,
      [...(moreCases[kernel] ?? []), ...drawn].filter((of) => isCompared(backend, kernel, of)),
    );
  });

  test("every kernel was compared, but those named", () => {
    const expected = notCompared[backend].split(" ");
    expect(
      kernelsOf(backend)
        .filter((kernel) => !compared.has(kernel))
        .sort(),
    ).toEqual(expected.sort());
  });

  test("the kernels with scratch are those of the table, and those named", () => {
    const expected = [...scratchKernels(backend), ...unknownScratch[backend]];
    expect([...withScratch].sort()).toEqual(expected.filter((kernel) => compared.has(kernel)).sort());
  });
});

describe("the scratch of a kernel", () => {
  test("on cpu: Mean divides a copy of all of x and sums that", () => {
    const of = kernelCase({ x: t([4, 8]) }, { axis: [1], keepDims: false });
    expect(fakeMode(() => kernelMemory("Mean", of)).events).toEqual([
      "+4 #1",
      "+128 #2",
      "+16 #3",
      "-4 #1",
      "-128 #2",
      "float32[4] in #3",
    ]);
  });

  test("that lets many be held at once is told in one, and the most that is held stays exact", () => {
    const of = (numSegments: number): KernelCase =>
      kernelCase({ x: t([4, 8]), segmentIds: t([4], "int32") }, { numSegments });
    const most = (numSegments: number): number => {
      let bytes = 0;
      return fakeMode(() => kernelMemory("UnsortedSegmentSum", of(numSegments))).events.reduce((highest, event) => {
        bytes += Number(/^[+-]\d+/.exec(event)?.[0] ?? 0);
        return Math.max(highest, bytes);
      }, 0);
    };
    const perSegment = 4 + 4 + 4 * 32 + 4 * 8;
    const result = (numSegments: number): number => numSegments * 4 * 8;
    for (const segments of [7, 256, 257, 1000, 50_257])
      expect(most(segments)).toBe(segments * perSegment + result(segments));
  });
});
