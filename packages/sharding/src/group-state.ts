import type { GroupParameter, ParameterGroup } from "./parameter-groups.js";

/** The training state of a parameter group, as in `FSDPParamGroup`. */
type Training = "idle" | "forward" | "preBackward" | "postBackward";

/** A gradient of an unsharded parameter that waits to be reduced. */
export interface WaitingGradient {
  readonly storage: number;
  readonly parameter: GroupParameter;
  /** True if the gradient was kept unreduced, in the dtype of the reduction. */
  readonly isInReduceDtype?: boolean;
}

/**
 * The state of one parameter group on the rank.
 *
 * @internal
 */
export class GroupState {
  readonly group: ParameterGroup;
  readonly shards: number[] = [];
  /**
   * The storages of the unsharded parameters, once allocated. They are resized to 0 bytes while the group is sharded.
   */
  gathered: number[] = [];
  isGathered = false;
  /**
   * The shards that remain after the forward pass if parameters are resharded to fewer ranks. Empty while the
   * parameters are unsharded or sharded over all ranks.
   */
  postForward: number[] = [];
  /** Modules of the group that must still run before its forward pass is over. */
  readonly toRun: Set<number> = new Set();
  /** The modules of the group that ran first and last in the forward pass, respectively. */
  first: number;
  last: number;
  /** The buffer of an all-gather that was started and not waited for, or -1 if no buffer is needed. */
  pending: number | undefined;
  training: Training = "idle";
  readonly forwardIndices: number[] = [];
  readonly gradients: WaitingGradient[] = [];
  /**
   * For each parameter, the storage of its sharded gradient. Gradients that were reduced together share one storage.
   * With offload, each gradient has its own.
   */
  readonly shardedGradients: Map<GroupParameter, number> = new Map();

  /** Under HSDP, an all-reduced buffer in a dtype other than the parameters'. It is kept until the next reduction. */
  allReduced: number | undefined;
  constructor(group: ParameterGroup) {
    this.group = group;
    this.first = group.modules[0];
    this.last = group.modules[group.modules.length - 1];
  }
}
