import type { NamedTensorMap, Tensor, Variable } from "@tensorflow/tfjs-core";
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
