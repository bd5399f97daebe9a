import { findBackend } from "@remat/dispatch-hook/backends";
import * as tf from "@tensorflow/tfjs-core";

interface HostGlobals {
  readonly process?: {
    readonly versions?: { readonly node?: string };
    getBuiltinModule?(name: string): { cpus(): readonly { readonly model: string }[] } | undefined;
  };
  readonly navigator?: { readonly userAgent?: string; readonly hardwareConcurrency?: number };
}

/** Parts of tfjs-node's backend that tell what is under it. */
interface NativeBackend {
  readonly isUsingGpuDevice?: boolean;
  readonly binding?: { readonly TF_Version?: string };
}

/**
 * Describes on what is measured: backend and versions, processor, runtime. The key under which measurements are kept. A GPU's name is not known to
 * tfjs; give `benchmarkTrace` an `environment` of your own where a machine has more than one.
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

/** Tells whether kernels of the current backend may still run when they have returned. */
export const isAsynchronous = (): boolean => findBackend(tf.getBackend()).deviceOf(tf.backend()).isAsynchronous;
