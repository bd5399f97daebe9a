import type { NamedTensorMap, Tensor, Variable } from "@tensorflow/tfjs-core";
import type { KernelAttributes, KernelInputs, KernelOutput } from "./kernels/index.js";

/** A gradient and the name of its variable, as optimizers accept them in lists. */
export interface NamedTensor {
  /** Name of the variable. */
  readonly name: string;
  /** The gradient. */
  readonly tensor: Tensor;
}

/**
 * One buffer of memory, which several `DataId`s may share. Each buffer has one such object. `id` increases over the
 * life of the process and is never reused.
 */
export interface Storage {
  /** Number of the storage. */
  readonly id: number;
  /** Requested size in bytes, from dtype and number of elements. */
  readonly bytes: number;
  /** Name of the backend that owns it. For the fake backend, the one it simulates. */
  readonly backend: string;
  /** True while its data is evicted although tensors still use it (`evictData`). */
  readonly isEvicted: boolean;
  /**
   * True if the hook observed the allocation. False for data made while no open mode listened to ops, storages or the
   * tape.
   */
  readonly fresh: boolean;
}

/**
 * The origin of a storage: an op's kernel, the engine's clone of a saved tensor (on backends whose `Identity` copies),
 * or JavaScript (`tensor()`).
 */
export type StorageOrigin = "op" | "save" | "data";

/** A run of `customGrad`, whose ops share one gradient function. */
export interface GradientScope {
  /** Number of the scope, increasing over the life of the process. */
  readonly sequence: number;
  /** Name of the TensorFlow.js op or tidy around it (`fusedMatMul`, `softmaxCrossEntropy`), or `customGrad`. */
  readonly name: string;
  /** The scope around it. */
  readonly parent: GradientScope | undefined;
  /** Inputs of the `customGrad`. */
  readonly inputs: readonly Tensor[];
}

/**
 * One run of a block with manual activation checkpointing, as reported by the code that recomputes it. Each run has its
 * own object.
 */
export interface CheckpointedBlock {
  /** Name of the block. */
  readonly name: string;
  /** Its arguments. */
  readonly inputs: readonly Tensor[];
}

/** A call of a registered kernel by the user's computation, not by another registered kernel. */
export interface OpCall {
  /**
   * Number of the op among all observed ops of the process, including those of other asynchronous work. Never reused.
   */
  readonly sequence: number;
  /** TensorFlow.js kernel name, such as `MatMul` or `Conv2DBackpropInput`. */
  readonly kernel: string;
  /** Inputs by name, or as a list. */
  readonly inputs: KernelInputs;
  /** `inputs` in argument order, without absent ones. */
  readonly inputTensors: readonly Tensor[];
  /** Attributes of the call. */
  readonly attributes: KernelAttributes | undefined;
  /** Name of the backend. */
  readonly backend: string;
  /** `Phase` of `@remat/trace`. */
  readonly phase: number;
  /** Innermost running `customGrad`. */
  readonly scope: GradientScope | undefined;
  /**
   * For a backward op, the tape node that it differentiates. For the Add that accumulates a gradient, the producer of
   * the accumulated tensor.
   */
  readonly differentiates: TapeNode | undefined;
  /** For the Add that accumulates a gradient, the node whose contribution it adds. */
  readonly accumulatesFrom: TapeNode | undefined;
  /** For a replayed op, the `sequence` of the op that it repeats. */
  readonly repeats: number | undefined;
}

/** An op that has run. */
export interface OpDone extends OpCall {
  /** Outputs of the op. */
  readonly outputs: readonly Tensor[];
  /**
   * True if a backend with a device computed part of the op in JavaScript, because the inputs were not on the device
   * yet. A replay finds them there, and its result may differ bitwise.
   */
  readonly isOnHost: boolean;
  /** True if the device added numbers in an unspecified order, so that the result may differ each time. */
  readonly isInAnyOrder: boolean;
}

/** Tape entry of one op, `customGrad` or saved clone. */
export interface TapeNode {
  /** Number of the node, increasing over the life of the process. */
  readonly sequence: number;
  /**
   * `clone` is the engine's Identity for a saved tensor. For a clone, `op` or `scope` is the one that the tensor was
   * saved for.
   */
  readonly kind: "op" | "scope" | "clone";
  /** The op, unless the node is a scope. */
  readonly op: OpDone | undefined;
  /** The `customGrad`, if the node is one. */
  readonly scope: GradientScope | undefined;
  /** Inputs of the op. */
  readonly inputs: readonly Tensor[];
  /** Outputs of the op. */
  readonly outputs: readonly Tensor[];
  /** Tensors saved for the gradient: clones made by the engine. */
  readonly saved: readonly Tensor[];
}

/** A tensor that autograd keeps alive until the end of the backward pass. */
export interface SavedTensor {
  /** The op whose gradient needs it. Undefined if a `customGrad` does. */
  readonly op: OpDone | undefined;
  /** The `customGrad` whose gradient needs it. */
  readonly scope: GradientScope | undefined;
  /** Its role in the op. */
  readonly as: "input" | "output" | "other";
  /** The user's tensor. */
  readonly tensor: Tensor;
  /** The engine's clone of the tensor. If `Identity` makes a copy (wasm), the clone has its own storage. */
  readonly clone: Tensor;
}

/** The contribution of a tape node's gradient to one of its inputs. */
export interface InputGradient {
  /** The kernel's name for the input. */
  readonly name: string;
  /** The input. Undefined if it is missing. */
  readonly input: Tensor | undefined;
  /** The gradient with respect to the input. */
  readonly gradient: Tensor;
}

/** A call of `engine.gradients`, which `grad`, `variableGrads` and every optimizer use. */
export interface GradientsCall {
  /** The function to differentiate. */
  readonly forward: () => Tensor;
  /** The tensors to differentiate by. */
  readonly xs: readonly Tensor[];
  /** Gradient of the result. Undefined means ones. */
  readonly dy: Tensor | undefined;
  /** True if the result may be independent of all xs. */
  readonly allowNoGradients: boolean;
  /**
   * Identifies the call of `minimize` that applies the gradients by an update of TensorFlow.js, and disposes of them.
   * Undefined for other passes, and if the optimizer's class changes how gradients are computed or applied.
   */
  readonly minimization?: object | undefined;
}

/** Result of a forward and backward pass. */
export interface GradientsResult {
  /** Result of the forward function. */
  value: Tensor;
  /** Gradient of each of the xs. */
  grads: Tensor[];
}

/** Runs the forward and backward pass, optionally of another call. */
export type RunGradients = (call?: GradientsCall) => GradientsResult;

/** The method by which an optimizer updates the weights. */
export type ApplyGradients = (this: object, gradients: NamedTensorMap | readonly NamedTensor[]) => void;

/** An update that runs during a backward pass, weight by weight, as each gradient becomes final. */
export interface UpdateTurns {
  /** The variables, in the order of the weights. Undefined for a variable that is not trained. */
  readonly variables: readonly (Variable | undefined)[];
  /** Index of the weight that is being updated. Undefined if no weight is. */
  readonly place: number | undefined;
  /** Frees the gradient of the weight that is being updated, after its last reader. */
  freeGradient(): void;
  /**
   * Returns whether a weight with a final gradient must wait before it is updated. Called again after each node. By
   * default, no weight waits.
   */
  waits?: ((place: number, waiting: Iterable<number>) => boolean) | undefined;
}

/**
 * A call of `applyGradients` of an optimizer's class. If an override calls the method of its base class, that is
 * another call.
 */
export interface UpdateCall {
  /** The optimizer. */
  readonly optimizer: object;
  /** The gradients, by name or as a list. */
  readonly gradients: NamedTensorMap | readonly NamedTensor[];
  /** The method, as the class defines it. */
  readonly method: ApplyGradients;
  /**
   * True if the method is that of one of the seven optimizers of TensorFlow.js, and is not called inside a gradient
   * computation.
   */
  readonly isTfjs: boolean;
  /**
   * True if the gradients have no reader after the update, because `minimize` of TensorFlow.js called it and disposes
   * of them next.
   */
  readonly ownsGradients: boolean;
  /** Set if the update runs in the backward pass. A gradient then exists only during its turn. */
  readonly turns?: UpdateTurns | undefined;
}

/** Runs the op, optionally with other inputs or attributes. Saved tensors and the tape keep the original ones. */
export type RunNext = (inputs?: KernelInputs, attributes?: KernelAttributes) => KernelOutput;
