import type { TapeNode } from "./engine-records.js";

/** The tape node that made each tensor, by tensor id. Few are looked up, so nodes are indexed on demand. @internal */
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
