import { RematError } from "@remat/trace";
import {
  copyRegisteredKernels,
  getKernelsForBackend,
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  registerKernel,
  unregisterKernel,
} from "@tensorflow/tfjs-core";
import { type Backend, type BackendKernels, backends, isKnown, kernelsOfBackend } from "../backends/index.js";
import { kernelRules } from "../backends/kernel-rules.js";
import type { Infer } from "../kernels/index.js";
import type { FakeBackend } from "./fake-backend.js";
import { foldConstants } from "./fold-constants.js";

function fakeKernel(
  kernelName: string,
  infer: Infer<NamedTensorInfoMap, NamedAttrMap | undefined>,
  backendName: string,
): KernelConfig {
  return {
    kernelName,
    backendName,
    kernelFunc: ({ inputs, attrs, backend }) => {
      const fake = backend as FakeBackend;
      // A kernel may run another one.
      const outer = fake.kernel;
      fake.kernel = kernelName;
      const outputs = infer(inputs, attrs, fake);
      fake.kernel = outer;
      foldConstants(kernelName, inputs, attrs, outputs);
      return outputs;
    },
  };
}

function absentKernel(kernelName: string, backendName: string, standsFor: Backend): KernelConfig {
  const others = backends
    .filter((backend) => {
      const kernels = kernelsOfBackend(backend);
      return isKnown(kernels) && !kernels.lacks.has(kernelName);
    })
    .map(({ name }) => name);
  const kernelFunc = (): never => {
    throw new RematError(
      "KERNEL_MISSING",
      `Kernel ${kernelName} is not supported by the ${standsFor.name} backend, which fake mode simulates; ${others.join(" and ")} support it. ` +
        `Choose another backend: fakeMode(fn, { backend: "${others[0]}" }).`,
    );
  };
  return { kernelName, backendName, kernelFunc };
}

/**
 * Registers fake kernels for all kernels of the simulated backend. Returns a function that removes them. @internal
 */
export function registerFakeKernels(
  backendName: string,
  { standsFor, configs }: Pick<FakeBackend, "standsFor" | "configs">,
  kernels: BackendKernels,
): () => void {
  for (const [kernelName, infer] of kernelRules(kernels)) {
    const absent = kernels.lacks.has(kernelName);
    const config = absent
      ? absentKernel(kernelName, backendName, standsFor)
      : fakeKernel(kernelName, infer as never, backendName);
    registerKernel(config);
    configs.set(kernelName, config);
  }
  return () => {
    for (const kernelName of configs.keys()) unregisterKernel(kernelName, backendName);
    configs.clear();
  };
}

/** Registers a backend's own kernels under another name. Returns a function that removes them. @internal */
export function registerKernelsOf(backend: string, name: string): () => void {
  copyRegisteredKernels(backend, name);
  const kernels = getKernelsForBackend(name);
  return () => {
    for (const { kernelName } of kernels) unregisterKernel(kernelName, name);
  };
}
