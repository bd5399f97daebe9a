import type { Tensor } from "@tensorflow/tfjs-core";

const noTensors: readonly Tensor[] = [];

/** The op that has run unwatched. One object for all of them: to allocate one for each would take longer than the rest. @internal */
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

  /** Keeps nothing alive. Not after each op: the list's memory would be garbage as often. */
  passOver(): void {
    this.alone.length = 0;
  }
}
