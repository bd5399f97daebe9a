import type { Tensor } from "@tensorflow/tfjs-core";

const noTensors: readonly Tensor[] = [];

/**
 * The op that ran unwatched. One object is reused, because allocating one per op would take longer than the rest.
 * @internal
 */
export class UnwatchedOp {
  kernel = "";
  phase = 0;
  outputs: readonly Tensor[] = noTensors;
  private readonly alone: Tensor[] = [];

  begin(kernel: string, phase: number, made: Tensor | readonly Tensor[]): void {
    this.kernel = kernel;
    this.phase = phase;
    if (Array.isArray(made)) this.outputs = made as readonly Tensor[];
    else {
      this.alone[0] = made as Tensor;
      this.outputs = this.alone;
    }
  }

  end(): void {
    this.outputs = noTensors;
  }

  /** Drops references to tensors. Not done after each op, since that would produce as much garbage. */
  passOver(): void {
    this.alone.length = 0;
  }
}
