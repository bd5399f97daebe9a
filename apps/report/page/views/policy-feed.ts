import type { PolicyAnswer, SacColumns } from "../engine/answers.js";

/** Facts about the ops of the selected module: their fates under its budget, and PyTorch's columns. */
export interface ShownPolicy {
  /** The decision for each op of the trace. 255 stands for ops outside the module. */
  readonly fate: Uint8Array | undefined;
  readonly columns: SacColumns | undefined;
}

type Listener = (policy: ShownPolicy) => void;

/** Passes policies from the trade-off, where they are computed, to the ops table. */
export class PolicyFeed {
  private readonly listeners: Listener[] = [];
  private readonly opCount: number;
  private current: ShownPolicy = { fate: undefined, columns: undefined };

  constructor(opCount: number) {
    this.opCount = opCount;
  }

  tellPolicy(answer: PolicyAnswer, method: "greedy" | "optimal"): void {
    const { fate } = method === "optimal" ? (answer.optimal ?? answer.greedy) : answer.greedy;
    const ofOps = new Uint8Array(this.opCount).fill(255);
    for (let i = 0; i < answer.ops.length; i++) ofOps[answer.ops[i]] = fate[i];
    this.tell({ ...this.current, fate: ofOps });
  }

  tellColumns(columns: SacColumns | undefined): void {
    this.tell({ ...this.current, columns });
  }

  follow(listener: Listener): void {
    this.listeners.push(listener);
    listener(this.current);
  }

  private tell(policy: ShownPolicy): void {
    this.current = policy;
    for (const listener of this.listeners) listener(policy);
  }
}
