import type { DispatchObserver, OpDone } from "@remat/dispatch-hook";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { UpdateScript } from "./update-script.js";

/**
 * Frees tensors in an update according to its script. Each is disposed of after its last reader, instead of by the
 * engine's tidy when all weights are updated.
 *
 * @internal
 */
export class UpdateFollower implements DispatchObserver {
  readonly looksInPassing = true;
  private readonly made: (Tensor | undefined)[] = [];
  private op = 0;
  private hasLeft = false;

  private readonly script: UpdateScript;
  private readonly freeGradient: (place: number) => void;

  /** @param freeGradient frees the gradient at an index; does nothing if other code may read it */
  constructor(script: UpdateScript, freeGradient: (place: number) => void) {
    this.script = script;
    this.freeGradient = freeGradient;
  }

  /** True if the update went as the script predicts. */
  get isAsRehearsed(): boolean {
    return !this.hasLeft && this.op === this.script.kernels.length;
  }

  opOver({ kernel, outputs }: OpDone): void {
    const { made, script, op } = this;
    if (this.hasLeft || script.kernels[op] !== kernel) {
      this.hasLeft = true;
      return;
    }
    this.op++;
    made[op] = outputs[0];
    const { start, values } = script.freedAfter;
    for (let i = start[op]; i < start[op + 1]; i++) {
      const freed = values[i];
      if (freed < 0) {
        this.freeGradient(-1 - freed);
        continue;
      }
      made[freed]?.dispose();
      made[freed] = undefined;
    }
  }
}
