import type { NamedTensorInfoMap, Tensor } from "@tensorflow/tfjs-core";
import type { EngineInternals } from "../engine-internals.js";
import type { KernelAttributes, KernelInputs } from "../kernels/index.js";

/**
 * A replacement for a kernel of one backend in gradients, with bitwise identical results in less time. Each has a file
 * that describes the original, the replacement, and why results are identical. Its test also compares special values.
 * The op keeps its name, so traces and plans do not change.
 *
 * @internal
 */
export interface ReplacedKernel {
  readonly backend: string;
  readonly kernel: string;
  /** Digest of the source text of the backend's function, see `isFunctionOfTfjs`. */
  readonly digest: string;
  /** Returns whether the replacement is equivalent for these inputs and attributes. */
  isEqual(inputs: KernelInputs, attributes: KernelAttributes | undefined): boolean;
  /** Runs the replacement inside the kernel, on the backend or in fake mode. The engine disposes of the result. */
  run(engine: EngineInternals, inputs: NamedTensorInfoMap): Tensor;
}

/** A replacement that may run. @internal */
export interface KernelReplacement {
  /** Returns whether it runs now for these inputs and attributes. */
  isWanted(inputs: KernelInputs, attributes: KernelAttributes | undefined): boolean;
  run(inputs: NamedTensorInfoMap): Tensor;
}
