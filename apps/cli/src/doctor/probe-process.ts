// A process that tests a backend through the module that provides it: whether it starts for training, and how fast it
// multiplies.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findBackend } from "@remat/dispatch-hook/backends";
import { classifyFailure, type MissingPart, startBackend, usesGpuNow } from "@remat/dispatch-hook/backends/node";
import * as tf from "@tensorflow/tfjs-core";

/** The result, printed as one line of JSON. */
export type ProbeAnswer =
  | { readonly missing: MissingPart; readonly reason: string }
  | {
      readonly version: string | undefined;
      readonly tensorflow: string | undefined;
      readonly usesGpu: boolean;
      readonly gflops: number;
    };

const size = 512;

async function probe(path: string, backend: string): Promise<ProbeAnswer> {
  try {
    await startBackend({ backend, path }, { for: "training" });
    const { binding } = tf.backend() as { readonly binding?: { readonly TF_Version?: string } };
    return {
      version: versionOf(path),
      tensorflow: binding?.TF_Version,
      usesGpu: usesGpuNow(findBackend(backend)),
      gflops: (2 * size ** 3) / multiplyMs() / 1e6,
    };
  } catch (error) {
    return { missing: classifyFailure(error), reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Version of the package that contains a module. */
function versionOf(path: string): string | undefined {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const version = versionIn(folder);
    if (version !== undefined) return version;
  }
  return undefined;
}

function versionIn(folder: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly version?: string }).version;
  } catch {
    return undefined;
  }
}

/** Median time of a matrix product. A slow backend is timed once, a fast one until its times settle. */
function multiplyMs(): number {
  const a = tf.ones([size, size]);
  const once = (): number => {
    const start = performance.now();
    const product = tf.matMul(a, a);
    const [first] = product.dataSync();
    product.dispose();
    if (first !== size) throw new Error(`a product of ones gave ${first}; expected ${size}`);
    return performance.now() - start;
  };
  once();
  const times: number[] = [];
  for (const end = performance.now() + 200; times.length === 0 || (times.length < 20 && performance.now() < end); )
    times.push(once());
  return times.sort((x, y) => x - y)[times.length >> 1];
}

const [path, backend] = process.argv.slice(2);
process.stdout.write(`\n${JSON.stringify(await probe(path, backend))}\n`);
