import { Phase } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { KernelParameters } from "./engine-internals.js";
import type { GradientScope, OpDone, TapeNode } from "./engine-records.js";
import type { KernelAttributes, KernelInputs } from "./kernels/index.js";

let nextOpSequence = 0;
const noTensors: readonly Tensor[] = [];

/** @internal */
export class Op implements OpDone {
  kernel = "";
  inputs: KernelInputs = noTensors as KernelInputs;
  attributes: KernelAttributes | undefined;
  backend = "";
  phase: number = Phase.outside;
  scope: GradientScope | undefined;
  differentiates: TapeNode | undefined;
  accumulatesFrom: TapeNode | undefined;
  repeats: number | undefined;
  sequence = -1;
  outputs: readonly Tensor[] = noTensors;
  isOnHost = false;
  isInAnyOrder = false;
  private present: readonly Tensor[] | undefined;

  get inputTensors(): readonly Tensor[] {
    this.present ??= presentInputs(this.inputs);
    return this.present;
  }

  /** Becomes the next op, of no scope and no node. */
  begin(
    { kernelName, inputs, attrs }: KernelParameters,
    backend: string,
    phase: number,
    repeats: number | undefined,
  ): void {
    this.kernel = kernelName as string;
    this.inputs = inputs;
    this.attributes = attrs;
    this.backend = backend;
    this.phase = phase;
    this.repeats = repeats;
    this.sequence = nextOpSequence++;
    this.isOnHost = false;
    this.isInAnyOrder = false;
  }

  /** Keeps nothing alive until the next op. */
  end(): void {
    this.inputs = noTensors as KernelInputs;
    this.attributes = undefined;
    this.outputs = noTensors;
    this.present = undefined;
  }

  /** The same op with what a mode put in place of its inputs. */
  with(inputs: KernelInputs, attributes: KernelAttributes | undefined): Op {
    const op = this.copy();
    op.inputs = inputs;
    op.attributes = attributes;
    op.scope = this.scope;
    op.differentiates = this.differentiates;
    op.accumulatesFrom = this.accumulatesFrom;
    return op;
  }

  /** As a mode sees it that was opened by other asynchronous work. */
  outside(): Op {
    const op = this.copy();
    op.phase = Phase.outside;
    op.outputs = this.outputs;
    op.isOnHost = this.isOnHost;
    op.isInAnyOrder = this.isInAnyOrder;
    return op;
  }

  /** The call, without its place on the tape and its outcome. */
  private copy(): Op {
    const op = new Op();
    op.kernel = this.kernel;
    op.inputs = this.inputs;
    op.attributes = this.attributes;
    op.backend = this.backend;
    op.phase = this.phase;
    op.repeats = this.repeats;
    op.sequence = this.sequence;
    return op;
  }
}

type NamedInputs = Readonly<Record<string, Tensor | readonly Tensor[] | undefined>>;

/** Calls `look` with each tensor of a kernel's inputs in argument order: those of an op's `inputTensors`, without a list of them. */
export function forEachInput(inputs: KernelInputs, look: (tensor: Tensor) => void): void {
  if (Array.isArray(inputs)) {
    for (const tensor of inputs as readonly Tensor[]) look(tensor);
    return;
  }
  const named = inputs as NamedInputs;
  for (const name in named) {
    const input = named[name];
    if (Array.isArray(input)) for (const tensor of input as readonly Tensor[]) look(tensor);
    else if (isTensor(input)) look(input);
  }
}

/** The tensors of a kernel's inputs in argument order; optional ones (a bias) may be missing, ragged kernels take lists among them. */
function presentInputs(inputs: KernelInputs): readonly Tensor[] {
  if (Array.isArray(inputs)) return inputs as Tensor[];
  const named = inputs as NamedInputs;
  let count = 0;
  for (const name in named) {
    const input = named[name];
    if (Array.isArray(input)) count += input.length;
    else if (isTensor(input)) count++;
  }
  // Of its length from the beginning: an array that grows by `push` takes room for seventeen.
  const tensors = new Array<Tensor>(count);
  let at = 0;
  for (const name in named) {
    const input = named[name];
    if (Array.isArray(input)) for (const tensor of input as readonly Tensor[]) tensors[at++] = tensor;
    else if (isTensor(input)) tensors[at++] = input;
  }
  return tensors;
}

/** `FromPixels` is given a picture. */
function isTensor(input: Tensor | readonly Tensor[] | undefined): input is Tensor {
  return input != null && (input as Tensor).dataId !== undefined;
}
