import type { Tensor } from "@tensorflow/tfjs-core";
import type { EngineTapeNode } from "../engine-internals.js";

/**
 * Tensors on a tape by which an inner pass can differentiate: those that are alive, since code must refer to them.
 *
 * @internal
 */
export class AskableTensors {
  private readonly producers = new Map<number, EngineTapeNode>();
  /** Tensors that are disposed of, as are all tensors that lead to them. */
  private readonly dead = new Set<number>();

  add(node: EngineTapeNode): void {
    for (const { id } of node.outputs) this.producers.set(id, node);
  }

  /** Returns a living tensor that is, or leads to, one of `tensors`. Undefined if none exists, and never will be. */
  livingSourceOf(tensors: readonly Tensor[]): Tensor | undefined {
    const visited = new Set<number>();
    const waiting = [...tensors];
    for (let tensor = waiting.pop(); tensor !== undefined; tensor = waiting.pop()) {
      const { id } = tensor;
      if (this.dead.has(id) || visited.has(id)) continue;
      if (!tensor.isDisposed) return tensor;
      visited.add(id);
      const producer = this.producers.get(id);
      if (producer !== undefined)
        for (const input of Object.values(producer.inputs)) if (input != null) waiting.push(input);
    }
    for (const id of visited) this.dead.add(id);
    return undefined;
  }
}
