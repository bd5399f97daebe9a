import * as core from "@tensorflow/tfjs-core";

/** The names of tfjs's own kernels: tfjs-core exports each under itself. @internal */
export const ownKernelNames: ReadonlySet<string> = new Set(
  Object.entries(core)
    .filter(([name, value]) => name === value)
    .map(([name]) => name),
);

/** By backend, what was registered under each of these names when it was first seen. */
const firstSeen = new Map<string, ReadonlyMap<string, core.KernelConfig>>();

/**
 * Takes down what a backend has registered: from then on another kernel of the same name is somebody else's. The sooner the better, so this
 * package does so for those that are there when it is loaded.
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

/** Whether the kernel that a backend has under a name is the one that it brought. @internal */
export function isOwnKernel(kernel: string, backend: string): boolean {
  const config = core.getKernel(kernel, backend);
  return config !== undefined && rememberKernels(backend).get(kernel) === config;
}
