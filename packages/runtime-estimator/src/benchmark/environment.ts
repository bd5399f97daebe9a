import { findBackend } from "@remat/dispatch-hook/backends";
import * as tf from "@tensorflow/tfjs-core";
import { describeMachine } from "../describe-machine.js";

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
  return `${tf.getBackend()}${isOnGpu() ? " on a GPU" : ""}, ${describeVersions()}; ${describeMachine()}`;
}

/** Returns the versions of TensorFlow.js and of the library below the current backend. @internal */
export function describeVersions(): string {
  const { binding } = tf.backend() as NativeBackend;
  return `tfjs ${tf.version_core}${binding?.TF_Version === undefined ? "" : `, TensorFlow ${binding.TF_Version}`}`;
}

const isOnGpu = (): boolean => (tf.backend() as NativeBackend).isUsingGpuDevice === true;

/** Returns whether kernels of the current backend may return before they have finished. */
export const isAsynchronous = (): boolean => findBackend(tf.getBackend()).deviceOf(tf.backend()).isAsynchronous;
