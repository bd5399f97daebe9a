import type { FasterGradients, RematError } from "@remat/trace";
import type { DataId, NamedTensorMap, Tensor, Variable } from "@tensorflow/tfjs-core";
import type { KernelAttributes, KernelInputs, KernelOutput } from "./kernels/index.js";

/** A gradient by the name of its variable, as optimizers take them in lists. */
export interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

/**
 * What memory is spent on: one buffer, which several `DataId`s may share (architecture rule 7). The object is the identity; `id` counts up
 * over the life of the process and is never reused.
 */
export interface Storage {
  readonly id: number;
  /** As requested, by dtype and number of elements. */
  readonly bytes: number;
  /** Name of the backend that holds it (for the fake backend: the one it stands for). */
  readonly backend: string;
  /** True while its data is gone, though tensors live in it (`evictData`). */
  readonly isEvicted: boolean;
  /** True when the hook saw the allocation, false for data that was made while no open mode listened to ops, storages or the tape. */
  readonly fresh: boolean;
}

/** What allocated a storage: an op's kernel, the engine's clone that saves a tensor (where Identity copies), or JavaScript (`tensor()`). */
export type StorageOrigin = "op" | "save" | "data";

/** A run of `customGrad`: a composite whose gradient belongs to it as a whole (T1). */
export interface GradientScope {
  readonly sequence: number;
  /** Name of the tfjs op or tidy around it (`fusedMatMul`, `softmaxCrossEntropy`), or `customGrad`. */
  readonly name: string;
  readonly parent: GradientScope | undefined;
  readonly inputs: readonly Tensor[];
}

/** One run of a block whose inside is recomputed by replaying kernels, told by whoever does that. The object is the identity. */
export interface CheckpointedBlock {
  readonly name: string;
  /** What it is given. */
  readonly inputs: readonly Tensor[];
}

/** A registered kernel of the user's computation that no other registered kernel is running (T1). */
export interface OpCall {
  /** Counts the ops that were watched over the life of the process, those of other asynchronous work included; never reused. */
  readonly sequence: number;
  /** tfjs kernel name: `MatMul`, `Conv2DBackpropInput`. */
  readonly kernel: string;
  readonly inputs: KernelInputs;
  /** `inputs` in argument order, without absent ones. */
  readonly inputTensors: readonly Tensor[];
  readonly attributes: KernelAttributes | undefined;
  readonly backend: string;
  /** `Phase` of `@remat/trace`. */
  readonly phase: number;
  /** Innermost `customGrad` that is running. */
  readonly scope: GradientScope | undefined;
  /** For a backward op the tape node that it differentiates; for the Add that accumulates a gradient the producer of the accumulated tensor. */
  readonly differentiates: TapeNode | undefined;
  /** For the Add that accumulates a gradient, the node whose contribution it adds. */
  readonly accumulatesFrom: TapeNode | undefined;
  /** For one that is replayed the `sequence` of the op that it repeats. */
  readonly repeats: number | undefined;
}

/** An op that has run. */
export interface OpDone extends OpCall {
  readonly outputs: readonly Tensor[];
  /** Whether a backend that computes on a device has computed some of it in JavaScript, since its inputs had not come to the device yet: later they have, and it would give other bits. */
  readonly isOnHost: boolean;
  /** Whether the device has added numbers in whichever order its threads came: it may give other bits each time. */
  readonly isInAnyOrder: boolean;
}

/** What the tape holds of one op, `customGrad` or saved clone. */
export interface TapeNode {
  readonly sequence: number;
  /** `clone`: the engine's Identity that holds a saved tensor; `op` or `scope` is then what it was saved for. */
  readonly kind: "op" | "scope" | "clone";
  readonly op: OpDone | undefined;
  readonly scope: GradientScope | undefined;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Tensors held for the gradient: clones made by the engine. */
  readonly saved: readonly Tensor[];
}

/** A tensor that autograd holds until the end of the backward pass (T6). */
export interface SavedTensor {
  /** The op or the `customGrad` whose gradient needs it. */
  readonly op: OpDone | undefined;
  readonly scope: GradientScope | undefined;
  readonly as: "input" | "output" | "other";
  /** The user's tensor. */
  readonly tensor: Tensor;
  /** The engine's clone of it: on another storage where `Identity` copies (wasm). */
  readonly clone: Tensor;
}

/** What the gradient of a tape node contributes to one of its inputs. */
export interface InputGradient {
  /** The kernel's name for the input. */
  readonly name: string;
  readonly input: Tensor | undefined;
  readonly gradient: Tensor;
}

/** A call of `engine.gradients`, which `grad`, `variableGrads` and every optimizer reach. */
export interface GradientsCall {
  readonly forward: () => Tensor;
  readonly xs: readonly Tensor[];
  readonly dy: Tensor | undefined;
  readonly allowNoGradients: boolean;
}

export interface GradientsResult {
  value: Tensor;
  grads: Tensor[];
}

/** Runs the forward and backward pass, of another call if given. */
export type RunGradients = (call?: GradientsCall) => GradientsResult;

/** The method by which an optimizer updates the weights. */
export type ApplyGradients = (this: object, gradients: NamedTensorMap | readonly NamedTensor[]) => void;

/** An update that runs in a backward pass, weight by weight, each when its gradient is final. */
export interface UpdateTurns {
  /** By place in the list of weights; undefined for one that is not trained. */
  readonly variables: readonly (Variable | undefined)[];
  /** That of the weight whose turn it is; undefined before, between and after the turns. */
  readonly place: number | undefined;
  /** Frees the gradient of that weight: nobody reads it any more. */
  freeGradient(): void;
  /** Of weights whose gradients are final, whether one is to wait for its turn: it is asked again when the next node is over. Left out: none waits. */
  waits?: ((place: number, waiting: Iterable<number>) => boolean) | undefined;
}

/** A run of a class's own `applyGradients`: that of the optimizer's class, or of one that it extends and calls. */
export interface UpdateCall {
  readonly optimizer: object;
  readonly gradients: NamedTensorMap | readonly NamedTensor[];
  /** As the class has it. */
  readonly method: ApplyGradients;
  /** Whether it is one of tfjs's own seven, outside of every gradient. */
  readonly isTfjs: boolean;
  /** Whether nobody reads the gradients once the update has: tfjs's `minimize` calls it, and disposes of them next. */
  readonly ownsGradients: boolean;
  /** Where it runs in the backward pass: then gradients are there only while it is their turn. */
  readonly turns?: UpdateTurns | undefined;
}

/** Runs the op, with other inputs or attributes if given. What autograd saves and tapes stays the original. */
export type RunNext = (inputs?: KernelInputs, attributes?: KernelAttributes) => KernelOutput;

/**
 * A layer over the tfjs engine, as `TorchDispatchMode` is over ATen. Every method is optional. `dispatch` and `gradients` stand in the
 * way and must call `next` or answer themselves; all others observe, in the order in which things happen, and must not run ops.
 *
 * Ops, storages and the tape are watched while some open mode has a method that is told of them. While none has, ops run as in stock, at its
 * speed; whoever begins to listen in the middle of a pass knows nothing of what came before.
 *
 * What a kernel allocates and releases inside itself is reported between its `opStarting` and its `opDone`. Kernels that a mode runs in
 * its `dispatch` belong to the op.
 *
 * @example
 * const names: string[] = [];
 * withDispatchMode({ opDone: (op) => names.push(op.kernel) }, () => tf.tidy(() => tf.relu(tf.add(a, b)).sum().dispose()));
 */
export interface DispatchMode {
  /** Whether work outside an asynchronous `withDispatchMode` is shown, as `Phase.outside`. Left out: it is not. */
  readonly seesOutside?: boolean;
  /**
   * Whether it looks at an op only while it is told of it, and neither at its `scope` nor at what it differentiates. Where that is so of all open modes, and none asks for scopes,
   * saved tensors or tape nodes, ops have none of these, and the object of one is the next one's, too: then hardly anything is allocated for an op. Left out: it may keep ops.
   */
  readonly looksInPassing?: boolean;
  /**
   * Whether it dozes: then it is told of no op and of nothing that ops make, but by `kernelOver`, and of storages only what becomes of those that it was told of before. Where all modes
   * that listen to ops doze these run as in stock, at its speed. Asked when a pass begins or ends, and at `reconsiderPass`. Left out: it does not.
   */
  readonly isDozing?: boolean;
  /** While it is open every backward pass frees each saved tensor and each gradient after its last use. Left out: it does as stock. */
  readonly releasesEarly?: boolean;
  /**
   * While it is open a forward pass keeps, of what is saved for gradients, only what the backward pass will read: not what serves a gradient that
   * nobody asks for, nor what only its shape is asked of. Left out: it does as stock.
   */
  readonly prunesSaved?: boolean;
  /**
   * While it is open the ones that tfjs's gradients of `Mean` and `Sum` multiply with are views of one array, where JavaScript fills a new one for
   * each in stock. Left out: it does as stock.
   */
  readonly sharesOnes?: boolean;
  /**
   * While it is open what is saved for gradients is on the data that it was saved of, where the engine's Identity makes a copy in stock (wasm). Left
   * out: it does as stock.
   */
  readonly sharesSaved?: boolean;

  /**
   * While it is open gradients that take needlessly many kernels take fewer: `equal` ones, where results are those of stock to the bit, and `reordered` ones
   * besides, where sums are added in another order. `none` wants those of stock, whatever other modes want. Left out: it wants nothing.
   */
  readonly fasterGradients?: FasterGradients | "none" | undefined;

  /**
   * While it is open it is not up to blocks that are checkpointed by hand what is recomputed: they run as they are. Left out: it leaves that to them.
   */
  readonly decidesCheckpointing?: boolean;

  /**
   * While it is open tfjs's `minimize` by one of tfjs's own optimizers updates each weight in the backward pass, as soon as its gradient is final, where
   * passes are released early. Left out: after the backward pass. `false` wants that, whatever other modes want.
   */
  readonly updatesInBackward?: boolean | undefined;

  /** It was to update weights in the backward pass, and will do so after it: for this reason. */
  updateAfterBackward?(reason: string): void;
  /** Another backend is about to be set: what this throws refuses it, and nothing has changed. */
  backendChanging?(name: string): void;

  /** The mode has been opened, or closed; in between it is told of what happens. */
  opened?(): void;
  /** It is about to be closed: here it may still run kernels (`replayKernel`). */
  closing?(): void;
  closed?(): void;

  /** Stands between the engine and the kernel; the innermost mode comes first. Not called for work outside. */
  dispatch?(call: OpCall, next: RunNext): KernelOutput;
  /** Stands between the caller and the engine's forward and backward pass. */
  gradients?(call: GradientsCall, next: RunGradients): GradientsResult;

  /** An op is about to be made of these inputs. Nothing is known of it to anybody yet: here a mode may run kernels (`replayKernel`). */
  opComing?(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void;
  /** JavaScript is about to make data of that many bytes: here, too, a mode may evict data. */
  dataComing?(bytes: number): void;
  /** Just before the kernel (and before `dispatch`). */
  opStarting?(call: OpCall): void;
  opDone?(op: OpDone): void;
  /** The op is done, and autograd has saved what it saves of it: the user's code goes on next. Here, too, a mode may run kernels. */
  opOver?(op: OpDone): void;
  /** Of a mode that dozes: an op has run. Here it may wake up (`reconsiderPass`). */
  kernelOver?(kernel: string, inputs: KernelInputs, phase: number, outputs: Tensor | readonly Tensor[]): void;
  /** A block begins that is checkpointed by hand, inside those that have begun and are not over. */
  blockEntered?(block: CheckpointedBlock): void;
  /** It is over, and what it need not keep is evicted; `results` is what it hands out, empty if it failed. */
  blockExited?(block: CheckpointedBlock, results: readonly Tensor[]): void;
  /** A part of the forward pass is about to be recomputed, that block if it is one: of its ops, told by `sequence`, some are replayed until `recomputationOver`. */
  recomputationStarting?(ops: readonly number[], block: CheckpointedBlock | undefined): void;
  recomputationOver?(block: CheckpointedBlock | undefined): void;
  /** The kernel threw; the error goes on to the caller. */
  opFailed?(op: OpCall, error: unknown): void;
  storageAllocated?(storage: Storage, origin: StorageOrigin): void;
  /** Its last `DataId` is gone. Told to every mode, whoever freed it. */
  storageReleased?(storage: Storage): void;
  /** Its data is evicted while tensors still live in it (0), or restored. */
  storageResized?(storage: Storage, bytes: number): void;
  /** The last tensor on a pinned `DataId` is gone: only pins hold it now. */
  dataUnused?(dataId: DataId): void;
  scopeEntered?(scope: GradientScope): void;
  /** It is over, with what it returned; undefined if it failed. */
  scopeExited?(scope: GradientScope, outputs: readonly Tensor[] | undefined): void;
  /** The tensors saved for one op, or for one `customGrad` (then just before its `scopeExited`). */
  tensorsSaved?(saved: readonly SavedTensor[]): void;
  tapeNodeAdded?(node: TapeNode): void;
  /**
   * The engine cannot be watched any longer: another copy of this package wants to, or a pass is over variables of another copy of tfjs-core. A mode that only observes has this method, and
   * closes itself in it. If all open modes have it the program goes on, otherwise it gets `problem` as an error.
   */
  cannotWatch?(problem: RematError): void;
  /** The forward function of a pass, or its backward pass, has thrown: told from within the engine's scope, so that Node names the place of the error that it names without us. */
  passFailed?(error: unknown): void;
  phaseChanged?(phase: number, before: number): void;
  /** The backward pass reaches `node`; `dys` are the gradients of its outputs (undefined where none arrived). */
  backwardNodeEntered?(node: TapeNode, dys: readonly (Tensor | undefined)[]): void;
  /** All gradients of the node's inputs that were asked for are there. */
  backwardNodeExited?(node: TapeNode, gradients: readonly InputGradient[]): void;
  /** The outcome of a backward pass, before it leaves `engine.gradients`; a gradient is undefined where x does not reach y. */
  gradientsDone?(xs: readonly Tensor[], grads: readonly (Tensor | undefined)[]): void;
  /** `variable` has got its data: when it was made, or by `assign`. */
  variableAssigned?(variable: Variable, made: boolean): void;
  /** Stands between the caller and an update of the weights; an override's call comes before that of what it overrides. */
  applyGradients?(call: UpdateCall, next: () => void): void;
  /** `applyGradients` is about to update the weights: nothing has changed yet, and if this throws nothing will. */
  optimizerUpdateComing?(optimizer: object, gradients: NamedTensorMap | readonly NamedTensor[]): void;
  /** `minimize` or `applyGradients` has updated the weights. */
  optimizerStepDone?(optimizer: object): void;
  /** JavaScript is about to read values (`dataSync`, `data`). */
  tensorRead?(dataId: DataId): void;
  /** JavaScript has read `values`; what this returns it gets in their place. Some backends give the data itself, not a copy: see `copyIfShared`. */
  valuesRead?(dataId: DataId, values: unknown): unknown;
}

/** Closes a mode; a second call does nothing. */
export type CloseMode = () => void;
