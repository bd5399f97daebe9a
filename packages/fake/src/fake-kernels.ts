import { type FakeBackendName, kernelRules } from "@remat/backends";
import { allKernels, type Infer } from "@remat/kernels";
import { RematError } from "@remat/trace";
import {
  type KernelConfig,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  registerKernel,
  unregisterKernel,
} from "@tensorflow/tfjs-core";
import type { FakeBackend } from "./fake-backend.js";

const words = (list: string): readonly string[] => list.trim().split(/\s+/);

/** What each backend of tfjs 4.22.0 lacks of the kernels that another one has; wasm has here what `provideGradientKernels` gives it. */
const missing: Readonly<Record<FakeBackendName, ReadonlySet<string>>> = {
  cpu: new Set(words("LogicalXor")),
  wasm: new Set(
    words(
      `Complex ComplexAbs Draw Einsum FFT IFFT Imag RaggedGather RaggedRange RaggedTensorToTensor Real StaticRegexReplace`,
    ),
  ),
  tensorflow: new Set(
    words(`BitwiseAnd DenseBincount Draw LogicalXor MaxPoolWithArgmax RaggedGather RaggedRange RaggedTensorToTensor RotateWithOffset
    SearchSorted SparseFillEmptyRows SparseReshape SparseSegmentMean SparseSegmentSum StringNGrams StringSplit StringToHashBucketFast
    Transform`),
  ),
};

/** Kernels that fake mode knows and `backend` has. @internal */
export const kernelsOf = (backend: FakeBackendName): readonly string[] =>
  [...allKernels.keys()].filter((name) => !missing[backend].has(name));

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
      return outputs;
    },
  };
}

function absentKernel(kernelName: string, backendName: string, standsFor: FakeBackendName): KernelConfig {
  const others = (Object.keys(missing) as FakeBackendName[]).filter((other) => !missing[other].has(kernelName));
  const kernelFunc = (): never => {
    throw new RematError(
      "KERNEL_MISSING",
      `Kernel ${kernelName} does not exist on the ${standsFor} backend, which fake mode stands for here; it exists on ${others.join(" and ")}. ` +
        `Choose another one: fakeMode(fn, { backend: "${others[0]}" }).`,
    );
  };
  return { kernelName, backendName, kernelFunc };
}

/** Registers the kernels of the backend that fake mode stands for; returns what takes them away. @internal */
export function registerFakeKernels(backendName: string, standsFor: FakeBackendName): () => void {
  for (const [kernelName, infer] of kernelRules(standsFor)) {
    const absent = missing[standsFor].has(kernelName);
    registerKernel(
      absent ? absentKernel(kernelName, backendName, standsFor) : fakeKernel(kernelName, infer as never, backendName),
    );
  }
  return () => {
    for (const kernelName of allKernels.keys()) unregisterKernel(kernelName, backendName);
  };
}
