import type { GroupParameter, ParameterGroup } from "./parameter-groups.js";

/** Where a parameter group is, as in `FSDPParamGroup`. */
type Training = "idle" | "forward" | "preBackward" | "postBackward";

/** A gradient of an unsharded parameter that waits to be reduced. */
export interface WaitingGradient {
  readonly storage: number;
  readonly parameter: GroupParameter;
}

/** The state of one parameter group on the rank. @internal */
export class GroupState {
  readonly group: ParameterGroup;
  readonly shards: number[] = [];
  /** The gathered parameters' storages, once made; they are resized to nothing while the group is sharded. */
  gathered: number[] = [];
  isGathered = false;
  /** The buffer of an all-gather that was begun and not waited for; -1 where none is needed. */
  pending: number | undefined;
  training: Training = "idle";
  readonly forwardIndices: number[] = [];
  readonly gradients: WaitingGradient[] = [];
  /** Sharded gradients: one storage for all, or with offload one per parameter. */
  readonly shardedGradients: Map<GroupParameter | undefined, number> = new Map();

  constructor(group: ParameterGroup) {
    this.group = group;
  }
}
