import type { KernelAttributes, KernelInputs } from "@remat/kernels";
import { Phase } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { GradientScope, OpDone, TapeNode } from "./dispatch-mode.js";

let nextOpSequence = 0;
const noTensors: readonly Tensor[] = [];

/** @internal */
export class Op implements OpDone {
  outputs: readonly Tensor[] = noTensors;

  constructor(
    readonly kernel: string,
    readonly inputs: KernelInputs,
    readonly attributes: KernelAttributes | undefined,
    readonly backend: string,
    readonly phase: number,
    readonly scope: GradientScope | undefined,
    readonly differentiates: TapeNode | undefined,
    readonly accumulatesFrom: TapeNode | undefined,
    readonly repeats: number | undefined,
    readonly inputTensors: readonly Tensor[] = present(inputs),
    readonly sequence: number = nextOpSequence++,
  ) {}

  /** The same op with what a mode put in place of its inputs. */
  with(inputs: KernelInputs, attributes: KernelAttributes | undefined): Op {
    return new Op(
      this.kernel,
      inputs,
      attributes,
      this.backend,
      this.phase,
      this.scope,
      this.differentiates,
      this.accumulatesFrom,
      this.repeats,
      present(inputs),
      this.sequence,
    );
  }

  /** As a mode sees it that was opened by other asynchronous work. */
  outside(): Op {
    const op = new Op(
      this.kernel,
      this.inputs,
      this.attributes,
      this.backend,
      Phase.outside,
      undefined,
      undefined,
      undefined,
      this.repeats,
      this.inputTensors,
      this.sequence,
    );
    op.outputs = this.outputs;
    return op;
  }
}

/** The tensors of a kernel's inputs in argument order; optional ones (a bias) may be missing, ragged kernels take lists among them. */
function present(inputs: KernelInputs): readonly Tensor[] {
  if (Array.isArray(inputs)) return inputs as Tensor[];
  const named = inputs as Readonly<Record<string, Tensor | readonly Tensor[] | undefined>>;
  let count = 0;
  for (const name in named) {
    const input = named[name];
    if (input != null) count += Array.isArray(input) ? input.length : 1;
  }
  // Of its length from the beginning: an array that grows by `push` takes room for seventeen.
  const tensors = new Array<Tensor>(count);
  let at = 0;
  for (const name in named) {
    const input = named[name];
    if (Array.isArray(input)) for (const tensor of input as readonly Tensor[]) tensors[at++] = tensor;
    else if (input != null) tensors[at++] = input as Tensor;
  }
  return tensors;
}
