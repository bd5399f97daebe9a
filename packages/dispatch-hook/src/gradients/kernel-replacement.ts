import type { NamedTensorInfoMap, Tensor } from "@tensorflow/tfjs-core";
import type { EngineInternals } from "../engine-internals.js";
import type { KernelAttributes, KernelInputs } from "../kernels/index.js";

/**
 * What runs in gradients in place of a kernel of one backend's, and gives the same to the bit in less time. A file each, which says what the backend does, what is done here, and
 * why the bits are equal; its test compares the two on special values, too. An op stays an op of its name, so traces and plans are the same with it and without.
 *
 * @internal
 */
export interface ReplacedKernel {
  readonly backend: string;
  readonly kernel: string;
  /** Of the text of the backend's function, see `isFunctionOfTfjs`. */
  readonly digest: string;
  /** Whether it is as good for these inputs and attributes. */
  isEqual(inputs: KernelInputs, attributes: KernelAttributes | undefined): boolean;
  /** Runs it, on the backend or in fake mode, inside of the kernel: what it returns is the engine's to dispose of. */
  run(engine: EngineInternals, inputs: NamedTensorInfoMap): Tensor;
}

/** One of these, where a kernel may run. @internal */
export interface KernelReplacement {
  /** Whether it does so now, for these inputs and attributes. */
  isWanted(inputs: KernelInputs, attributes: KernelAttributes | undefined): boolean;
  run(inputs: NamedTensorInfoMap): Tensor;
}
