import type { GroupParameter, ParameterGroup } from "./parameter-groups.js";

/** Where a parameter group is, as in `FSDPParamGroup`. */
type Training = "idle" | "forward" | "preBackward" | "postBackward";

/** A gradient of an unsharded parameter that waits to be reduced. */
export interface WaitingGradient {
  readonly storage: number;
  readonly parameter: GroupParameter;
  /** True of one that was kept unreduced, in the dtype of the reduction. */
  readonly isInReduceDtype?: boolean;
}

/** The state of one parameter group on the rank. @internal */
export class GroupState {
  readonly group: ParameterGroup;
  readonly shards: number[] = [];
  /** The gathered parameters' storages, once made; they are resized to nothing while the group is sharded. */
  gathered: number[] = [];
  isGathered = false;
  /** What is kept of the gathered parameters after the forward pass where they are resharded to fewer ranks; none while they are gathered, or sharded over all. */
  postForward: number[] = [];
  /** Modules of the group whose forward passes are to come before its own is over. */
  readonly toRun: Set<number> = new Set();
  /** The modules whose forward passes were the first and the last of the group's. */
  first: number;
  last: number;
  /** The buffer of an all-gather that was begun and not waited for; -1 where none is needed. */
  pending: number | undefined;
  training: Training = "idle";
  readonly forwardIndices: number[] = [];
  readonly gradients: WaitingGradient[] = [];
  /** By parameter the storage of its sharded gradient: one for all that were reduced together, or with offload one each. */
  readonly shardedGradients: Map<GroupParameter, number> = new Map();

  /** HSDP: what was all-reduced in another dtype than the parameters', which is kept until the next reduction. */
  allReduced: number | undefined;
  constructor(group: ParameterGroup) {
    this.group = group;
    this.first = group.modules[0];
    this.last = group.modules[group.modules.length - 1];
  }
}
