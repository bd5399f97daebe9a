import { Phase } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { GradientScope, KernelAttributes, KernelInputs, OpDone, TapeNode } from "./dispatch-mode.js";

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
      this.inputTensors,
      this.sequence,
    );
    op.outputs = this.outputs;
    return op;
  }
}

/** The tensors of a kernel's inputs in argument order; optional ones (a bias) may be missing. */
function present(inputs: KernelInputs): readonly Tensor[] {
  if (Array.isArray(inputs)) return inputs as Tensor[];
  const named = inputs as Readonly<Record<string, Tensor | undefined>>;
  let count = 0;
  for (const name in named) if (named[name] != null) count++;
  // Of its length from the beginning: an array that grows by `push` takes room for seventeen.
  const tensors = new Array<Tensor>(count);
  let at = 0;
  for (const name in named) {
    const tensor = named[name];
    if (tensor != null) tensors[at++] = tensor;
  }
  return tensors;
}
