import type { KernelAttributes, KernelInputs } from "@remat/kernels";
import type { NamedTensorInfoMap, Tensor } from "@tensorflow/tfjs-core";

/** What runs in place of a kernel of a backend's, made of other ops. @internal */
export interface KernelReplacement {
  /** Whether it does so now, for these inputs and attributes. */
  isWanted(inputs: KernelInputs, attributes: KernelAttributes | undefined): boolean;
  run(inputs: NamedTensorInfoMap): Tensor;
}
