import type { Tensor } from "@tensorflow/tfjs-core";
import type { Layer } from "./layer-internals.js";
import type { ContainerPlan, ModuleEntry } from "./module-entry.js";

/** A running container. @internal */
export interface ContainerRun {
  readonly call: ModuleCall;
  readonly plan: ContainerPlan;
  /** Number of its finished calls. */
  done: number;
  /** The open groups, outermost first. */
  readonly groups: ModuleCall[];
  /** The outputs of its last call. */
  outputs: readonly Tensor[];
  /** Results of those layers whose outputs are the container's outputs. */
  readonly results: Map<Layer, readonly Tensor[]>;
}

/** One call of a module. @internal */
export interface ModuleCall {
  readonly entry: ModuleEntry;
  /** The call around this one. In the backward pass the differentiated call. */
  readonly parent: ModuleCall | undefined;
  /** The call that ran before, and continues after it. */
  readonly before: ModuleCall | undefined;
  readonly depth: number;
  /** Index in the trace, or -1 without a recorder. */
  readonly traced: number;
  readonly inputs: readonly Tensor[];
  /** The container that calls modules at this point: this call's own or, for a group, the one around it. */
  run: ContainerRun | undefined;
  /** Gradient of each input by tensor id, in the backward pass. */
  readonly gradients: Map<number, Tensor>;
}

/** Returns `call` and the calls around it, outermost first. @internal */
export function chainOf(call: ModuleCall | undefined): ModuleCall[] {
  const chain: ModuleCall[] = [];
  for (let at = call; at !== undefined; at = at.parent) chain.push(at);
  return chain.reverse();
}
