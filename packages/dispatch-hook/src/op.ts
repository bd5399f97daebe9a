import { Phase } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { KernelParameters } from "./engine-internals.js";
import type { GradientScope, OpDone, TapeNode } from "./engine-records.js";
import type { KernelAttributes, KernelInputs } from "./kernels/index.js";

let nextOpSequence = 0;
const noTensors: readonly Tensor[] = [];

/** An op, as modes see it. @internal */
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

  /** Becomes the next op, without a scope or a node. */
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

  /** Drops all references until the next op. */
  end(): void {
    this.inputs = noTensors as KernelInputs;
    this.attributes = undefined;
    this.outputs = noTensors;
    this.present = undefined;
  }

  /** Returns the same op with inputs that a mode has replaced. */
  with(inputs: KernelInputs, attributes: KernelAttributes | undefined): Op {
    const op = this.copy();
    op.inputs = inputs;
    op.attributes = attributes;
    op.scope = this.scope;
    op.differentiates = this.differentiates;
    op.accumulatesFrom = this.accumulatesFrom;
    return op;
  }

  /** Returns the op as seen by a mode that other asynchronous work opened. */
  outside(): Op {
    const op = this.copy();
    op.phase = Phase.outside;
    op.outputs = this.outputs;
    op.isOnHost = this.isOnHost;
    op.isInAnyOrder = this.isInAnyOrder;
    return op;
  }

  /** Copies the call, without its place on the tape and its result. */
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

/**
 * Calls `look` with each tensor of a kernel's inputs in argument order: those of an op's `inputTensors`, without
 * allocating a list.
 */
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

/**
 * Returns the tensors of a kernel's inputs in argument order. Optional ones (a bias) may be missing, and ragged kernels
 * have lists among them.
 */
function presentInputs(inputs: KernelInputs): readonly Tensor[] {
  if (Array.isArray(inputs)) return inputs as Tensor[];
  const named = inputs as NamedInputs;
  let count = 0;
  for (const name in named) {
    const input = named[name];
    if (Array.isArray(input)) count += input.length;
    else if (isTensor(input)) count++;
  }
  // Allocated with its final length, because an array that grows by `push` reserves seventeen elements.
  const tensors = new Array<Tensor>(count);
  let at = 0;
  for (const name in named) {
    const input = named[name];
    if (Array.isArray(input)) for (const tensor of input as readonly Tensor[]) tensors[at++] = tensor;
    else if (isTensor(input)) tensors[at++] = input;
  }
  return tensors;
}

/** The input of `FromPixels` may be a picture. */
function isTensor(input: Tensor | readonly Tensor[] | undefined): input is Tensor {
  return input != null && (input as Tensor).dataId !== undefined;
}
