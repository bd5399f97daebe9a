import type { Tensor } from "@tensorflow/tfjs-core";
import type { Layer } from "./layer-internals.js";
import type { ContainerPlan, ModuleEntry } from "./module-entry.js";

/** A container while it runs. @internal */
export interface ContainerRun {
  readonly call: ModuleCall;
  readonly plan: ContainerPlan;
  /** How many of its calls are over. */
  done: number;
  /** The groups that are open, outermost first. */
  readonly groups: ModuleCall[];
  /** The outputs of its last call. */
  outputs: readonly Tensor[];
  /** What those of its layers have returned whose outputs are its own. */
  readonly results: Map<Layer, readonly Tensor[]>;
}

/** One call of a module. @internal */
export interface ModuleCall {
  readonly entry: ModuleEntry;
  /** The call around this one; in the backward pass the one that is differentiated. */
  readonly parent: ModuleCall | undefined;
  /** What ran before, and runs again after it. */
  readonly before: ModuleCall | undefined;
  readonly depth: number;
  /** Index in the trace, or -1 without a recorder. */
  readonly traced: number;
  readonly inputs: readonly Tensor[];
  /** The container that calls modules from here: this call's own, or for a group that around it. */
  run: ContainerRun | undefined;
  /** By id of an input: its gradient, in the backward pass. */
  readonly gradients: Map<number, Tensor>;
}

/** `call` and the calls around it, outermost first. @internal */
export function chainOf(call: ModuleCall | undefined): ModuleCall[] {
  const chain: ModuleCall[] = [];
  for (let at = call; at !== undefined; at = at.parent) chain.push(at);
  return chain.reverse();
}
