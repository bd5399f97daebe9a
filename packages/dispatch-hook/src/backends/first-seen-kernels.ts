import * as core from "@tensorflow/tfjs-core";

/** The names of TensorFlow.js's own kernels. tfjs-core exports each under its own name. @internal */
export const ownKernelNames: ReadonlySet<string> = new Set(
  Object.entries(core)
    .filter(([name, value]) => name === value)
    .map(([name]) => name),
);

/** For each backend, the kernel first seen under each of these names. */
const firstSeen = new Map<string, ReadonlyMap<string, core.KernelConfig>>();

/**
 * Records the kernels that a backend has registered. Any other kernel registered later under the same name is
 * third-party. Call this function as early as possible. This package calls it for backends that exist when the package
 * is loaded.
 *
 * @example
 * rememberKernels("tensorflow"); // before code of the user's could register others
 */
export function rememberKernels(backend: string): ReadonlyMap<string, core.KernelConfig> {
  let kernels = firstSeen.get(backend);
  if (kernels !== undefined) return kernels;
  const own = core.getKernelsForBackend(backend).filter(({ kernelName }) => ownKernelNames.has(kernelName));
  kernels = new Map(own.map((config) => [config.kernelName, config]));
  if (kernels.size > 0) firstSeen.set(backend, kernels);
  return kernels;
}

/** Returns whether a backend's kernel of this name is its original one. @internal */
export function isOwnKernel(kernel: string, backend: string): boolean {
  const config = core.getKernel(kernel, backend);
  return config !== undefined && rememberKernels(backend).get(kernel) === config;
}
