import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nativeApp } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { type BackendName } from "../../src/backends/index.js";
import { sharedBuffers } from "../../src/backends/shared-buffers.js";

interface Case {
  readonly kernel: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly input?: string;
  readonly dtype?: "float32" | "int32";
  readonly shape?: readonly number[];
}

const megabyte = 1e6;
/** 100 MB. */
const shape = [4, 25, 250_000];
const strided = { beginMask: 0, endMask: 0, ellipsisMask: 0, newAxisMask: 0, shrinkAxisMask: 0, strides: [1, 1, 1] };

const cases: readonly Case[] = [
  { kernel: "Identity" },
  { kernel: "Reshape", attributes: { shape: [25_000_000] } },
  { kernel: "ExpandDims", input: "input", attributes: { dim: 0 } },
  { kernel: "Cast", dtype: "int32", attributes: { dtype: "float32" } },
  { kernel: "Slice", attributes: { begin: [0, 0, 0], size: [4, 25, 250_000] } },
  { kernel: "StridedSlice", attributes: { ...strided, begin: [0, 0, 0], end: [4, 25, 250_000] } },
  { kernel: "SplitV", attributes: { numOrSizeSplits: 4, axis: 0 } },
  { kernel: "Unpack", input: "value", attributes: { axis: 0 } },
  { kernel: "Relu" },
  { kernel: "ZerosLike" },
];

/** Native is measured where a folder is named in which tfjs-node is installed with its addon; more of its table in checks/. */
const backends: readonly BackendName[] = nativeApp() === undefined ? ["cpu", "wasm"] : ["cpu", "wasm", "tensorflow"];

/** Twelve results where they should share, three where each takes 100 MB. */
const resultsOf = (shares: boolean): number => (shares ? 12 : 3);

function measure(
  backend: BackendName,
  of: Case,
  results: number,
): { readonly bytes: number; readonly grownBytes: number } {
  const child = fileURLToPath(new URL("measure-resident.mjs", import.meta.url));
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [child, JSON.stringify({ backend, shape, attributes: {}, ...of, results })],
    { encoding: "utf8", env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: "3" } },
  );
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { bytes: number; grownBytes: number };
}

// Checks the table against the operating system for a few kernels. shared-buffers.test.ts checks all of them against
// addresses.
describe.each(backends)("resident memory on %s", (backend) => {
  test.each(cases.map((of) => [of.kernel, of] as const))(
    "grows by the results of %s unless the table says that they share",
    (kernel, of) => {
      const { input = "x", dtype = "float32", attributes = {} } = of;
      const shares = sharedBuffers(backend, kernel, { [input]: { shape, dtype } }, attributes).length > 0;
      const results = resultsOf(shares);
      const { bytes, grownBytes } = measure(backend, of, results);
      expect(bytes).toBe(results * 100 * megabyte);
      if (shares) expect(grownBytes / megabyte).toBeLessThan(25);
      else expect(grownBytes / megabyte).toBeGreaterThan(results * 90);
    },
    60_000,
  );

  test("shows both: a kernel that shares and one that does not", () => {
    const says = cases.map(
      ({ kernel, input = "x", dtype = "float32", attributes = {} }) =>
        sharedBuffers(backend, kernel, { [input]: { shape, dtype } }, attributes).length > 0,
    );
    expect(new Set(says)).toEqual(new Set([true, false]));
  });
});
