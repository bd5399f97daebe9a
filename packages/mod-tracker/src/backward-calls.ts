import type { InputGradient, TapeNode } from "@remat/dispatch-hook";
import type { Tensor } from "@tensorflow/tfjs-core";
import { chainOf, type ModuleCall } from "./module-call.js";

/**
 * Tracks the forward calls that the backward pass is in. The pass walks the tape backwards, so the nodes of one call
 * follow each other. A call is entered at the first of its nodes and left at the first node outside of it (T5).
 *
 * @internal
 */
export class BackwardCalls {
  private readonly callOfNodes = new Map<number, ModuleCall>();
  private readonly entered: ModuleCall[] = [];
  private readonly listener: {
    enter(call: ModuleCall, gradients: readonly Tensor[]): void;
    exit(call: ModuleCall, gradients: readonly Tensor[]): void;
  };

  constructor(listener: BackwardCalls["listener"]) {
    this.listener = listener;
  }

  /** Number of nested calls that the backward pass is in. */
  get depth(): number {
    return this.entered.length;
  }

  get innermost(): ModuleCall | undefined {
    return this.entered.at(-1);
  }

  note(node: TapeNode, call: ModuleCall | undefined): void {
    if (call !== undefined) this.callOfNodes.set(node.sequence, call);
  }

  reach(node: TapeNode, gradients: readonly Tensor[]): void {
    const innermost = this.callOfNodes.get(node.sequence);
    // The entered calls are always the chain of the innermost one.
    if (innermost === this.innermost) return;
    const chain = chainOf(innermost);
    let common = 0;
    while (common < this.entered.length && this.entered[common] === chain[common]) common++;
    this.leaveTo(common);
    for (const call of chain.slice(common)) {
      this.entered.push(call);
      this.listener.enter(call, gradients);
    }
  }

  collect(gradients: readonly InputGradient[]): void {
    for (const { input, gradient } of gradients) {
      if (input === undefined) continue;
      for (const call of this.entered) if (call.inputs.includes(input)) call.gradients.set(input.id, gradient);
    }
  }

  leaveTo(depth: number): void {
    for (
      let call = this.entered.at(-1);
      call !== undefined && this.entered.length > depth;
      call = this.entered.at(-1)
    ) {
      const { gradients: known } = call;
      const gradients = call.inputs.map(({ id }) => known.get(id)).filter((dx) => dx !== undefined);
      this.listener.exit(call, gradients);
      this.entered.pop();
    }
  }

  /** Forgets the nodes when the tape is gone. */
  forget(): void {
    this.callOfNodes.clear();
  }
}
