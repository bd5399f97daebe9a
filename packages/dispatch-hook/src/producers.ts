import type { TapeNode } from "./engine-records.js";

/** By id of a tensor: the tape node that made it. Few are ever asked for, so nodes are put in order only then. @internal */
export class Producers {
  private readonly byTensor = new Map<number, TapeNode>();
  private added: TapeNode[] = [];

  add(node: TapeNode): void {
    this.added.push(node);
  }

  get(tensorId: number): TapeNode | undefined {
    for (const node of this.added) for (const { id } of node.outputs) this.byTensor.set(id, node);
    this.added = [];
    return this.byTensor.get(tensorId);
  }

  clear(): void {
    this.byTensor.clear();
    this.added = [];
  }
}
