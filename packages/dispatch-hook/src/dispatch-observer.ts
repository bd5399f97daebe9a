import type { RematError } from "@remat/trace";
import type { DataId, Tensor, Variable } from "@tensorflow/tfjs-core";
import type {
  CheckpointedBlock,
  GradientScope,
  InputGradient,
  OpCall,
  OpDone,
  SavedTensor,
  Storage,
  TapeNode,
} from "./engine-records.js";
import type { KernelInputs } from "./kernels/index.js";
import type { StepObserver } from "./step-observer.js";

/** Events of ops, and settings for how closely a mode watches them. */
export interface OpObserver {
  /**
   * True if the mode also sees work outside an asynchronous `withDispatchMode`, as `Phase.outside`. Default: it does
   * not.
   */
  readonly seesOutside?: boolean;
  /**
   * Promises that the mode reads an op only during the call that reports it, and reads neither its `scope` nor
   * `differentiates`. If all open modes promise that, and none listens to scopes, saved tensors or tape nodes, one op
   * object is reused for all ops. Then watching an op allocates almost nothing. Default: the mode may keep ops.
   */
  readonly looksInPassing?: boolean;
  /**
   * True if the mode dozes, that is, needs few events. A dozing mode gets `kernelOver` for each op, and storage events
   * only for storages that it already knows. If all modes that watch ops doze, ops run at the speed of unmodified
   * TensorFlow.js. The hook reads this property when a pass begins or ends, and in `reconsiderPass`. Default: the mode
   * does not doze.
   */
  readonly isDozing?: boolean;

  /** The kernel is about to run. Called before `dispatch`. */
  opStarting?(call: OpCall): void;
  /** The op is done, and autograd has saved its tensors. The user's code runs next. A mode may run kernels here. */
  opOver?(op: OpDone): void;
  /** The kernel threw. The error goes on to the caller. */
  opFailed?(op: OpCall, error: unknown): void;
  /** For a dozing mode: an op has run. The mode may wake up here (`reconsiderPass`). */
  kernelOver?(kernel: string, inputs: KernelInputs, phase: number, outputs: Tensor | readonly Tensor[]): void;
}

/** Events of memory: evicted data, pins, variables, and reads by JavaScript. */
export interface DataObserver {
  /** The data of a storage is evicted although tensors still use it (`bytes` is 0), or is restored. */
  storageResized?(storage: Storage, bytes: number): void;
  /** The last tensor on a pinned `DataId` is gone. Only pins keep it alive now. */
  dataUnused?(dataId: DataId): void;
  /** A variable got its data, when it was created (`made`) or by `assign`. */
  variableAssigned?(variable: Variable, made: boolean): void;
  /** JavaScript is about to read values (`dataSync`, `data`). */
  tensorRead?(dataId: DataId): void;
}

/** The tape, and the backward pass over it. */
export interface AutogradObserver {
  /** A `customGrad` begins. */
  scopeEntered?(scope: GradientScope): void;
  /** The scope is over. `outputs` is undefined if it failed. */
  scopeExited?(scope: GradientScope, outputs: readonly Tensor[] | undefined): void;
  /** The tensors saved for one op or one `customGrad`. For a `customGrad`, this comes just before its `scopeExited`. */
  tensorsSaved?(saved: readonly SavedTensor[]): void;
  /** An op, a `customGrad` or a saved clone was added to the tape. */
  tapeNodeAdded?(node: TapeNode): void;
  /** The backward pass reaches `node`. `dys` are the gradients of its outputs, undefined if none arrived. */
  backwardNodeEntered?(node: TapeNode, dys: readonly (Tensor | undefined)[]): void;
  /** All requested gradients of the node's inputs are computed. */
  backwardNodeExited?(node: TapeNode, gradients: readonly InputGradient[]): void;
  /**
   * The gradients of a backward pass, before it leaves `engine.gradients`. A gradient is undefined if x does not reach
   * y.
   */
  gradientsDone?(xs: readonly Tensor[], grads: readonly (Tensor | undefined)[]): void;
  /**
   * The forward function of a pass, or its backward pass, has thrown. Called inside the engine's scope, so that Node
   * reports the same source line as without remat.
   */
  passFailed?(error: unknown): void;
}

/** Blocks under manual activation checkpointing, and recomputation. */
export interface RecomputationObserver {
  /** A checkpointed block begins. It is nested in all blocks that have begun and not ended. */
  blockEntered?(block: CheckpointedBlock): void;
  /** The block is over, and its temporaries are evicted. `results` is what it returns, empty if it failed. */
  blockExited?(block: CheckpointedBlock, results: readonly Tensor[]): void;
  /**
   * A part of the forward pass is about to be recomputed: `block` or, if that is undefined, other ops. Some of its
   * `ops` (values of `sequence`) are replayed until `recomputationOver`.
   */
  recomputationStarting?(ops: readonly number[], block: CheckpointedBlock | undefined): void;
  /** The recomputation is over. */
  recomputationOver?(block: CheckpointedBlock | undefined): void;
}

/** Events of a mode's own opening and closing. */
export interface ModeLifecycle {
  /** The mode is open. Other events follow. */
  opened?(): void;
  /** The mode is about to close. It may still run kernels here (`replayKernel`). */
  closing?(): void;
  /** The mode is closed. */
  closed?(): void;
  /**
   * The engine can no longer be watched: another copy of this package wants to watch it, or a pass uses variables of
   * another copy of tfjs-core. A mode that only observes should define this method and close itself in it. If all open
   * modes define it, the program continues. Otherwise the program gets `problem` as an error.
   */
  cannotWatch?(problem: RematError): void;
}

/**
 * Everything that a mode can observe, in the order in which it happens. Most modes need only a {@link StepObserver}.
 */
export interface DispatchObserver
  extends StepObserver,
    OpObserver,
    DataObserver,
    AutogradObserver,
    RecomputationObserver,
    ModeLifecycle {}
