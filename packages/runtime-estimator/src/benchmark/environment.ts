import { findBackend } from "@remat/dispatch-hook/backends";
import * as tf from "@tensorflow/tfjs-core";

interface HostGlobals {
  readonly process?: {
    readonly versions?: { readonly node?: string };
    getBuiltinModule?(name: string): { cpus(): readonly { readonly model: string }[] } | undefined;
  };
  readonly navigator?: { readonly userAgent?: string; readonly hardwareConcurrency?: number };
}

/** Fields of tfjs-node's backend that describe the library below it. */
interface NativeBackend {
  readonly isUsingGpuDevice?: boolean;
  readonly binding?: { readonly TF_Version?: string };
}

/**
 * Returns a description of the machine: backend and versions, processor, runtime. It is the key of stored measurements.
 * TensorFlow.js does not know a GPU's name, so pass your own `environment` to `benchmarkTrace` if a machine has several
 * GPUs.
 *
 * @example
 * describeEnvironment(); // "cpu, tfjs 4.22.0; 8 × Intel(R) Xeon(R) …; node 20.19.5"
 */
export function describeEnvironment(): string {
  const { process, navigator } = globalThis as HostGlobals;
  const { isUsingGpuDevice, binding } = tf.backend() as NativeBackend;
  const version = binding?.TF_Version === undefined ? "" : `, TensorFlow ${binding.TF_Version}`;
  const backend = `${tf.getBackend()}${isUsingGpuDevice === true ? " on a GPU" : ""}, tfjs ${tf.version_core}${version}`;
  const cpus = process?.getBuiltinModule?.("node:os")?.cpus();
  if (cpus !== undefined && cpus.length > 0)
    return `${backend}; ${cpus.length} × ${cpus[0].model.trim()}; node ${process?.versions?.node ?? "of unknown version"}`;
  return `${backend}; ${navigator?.hardwareConcurrency ?? "?"} × unknown processor; ${navigator?.userAgent ?? "unknown runtime"}`;
}

/** Returns whether kernels of the current backend may return before they have finished. */
export const isAsynchronous = (): boolean => findBackend(tf.getBackend()).deviceOf(tf.backend()).isAsynchronous;
