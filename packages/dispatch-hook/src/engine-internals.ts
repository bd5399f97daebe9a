import { RematError } from "@remat/trace";
import {
  type DataId,
  engine,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
  type Variable,
} from "@tensorflow/tfjs-core";
import type { Backend } from "./backends/index.js";
import type { GradientsResult } from "./engine-records.js";
import type { KernelAttributes } from "./kernels/index.js";

/** An entry of the tape in tfjs-core. */
export interface EngineTapeNode {
  id: number;
  kernelName: string;
  outputs: Tensor[];
  inputs: NamedTensorMap;
  gradient?: (dys: Tensor[]) => Record<string, () => Tensor>;
  saved?: Tensor[];
}

/** The arguments of `runKernelFunc`: a registered kernel, or the two functions of a `customGrad`. */
export interface KernelParameters {
  /** Name of the kernel. Left out for a `customGrad`. */
  readonly kernelName?: string;
  /** The input tensors by name. */
  readonly inputs: NamedTensorMap;
  /** Attributes of the kernel by name. */
  readonly attrs?: KernelAttributes;
}

/** The parts of a backend instance that the hook uses. */
export interface EngineBackend {
  /** The simulated backend, on the fake backend only. */
  readonly standsFor?: Backend;
  /**
   * True on a fake backend that is an instance of the real class without its device, so its data has the same layout.
   */
  readonly isDeviceFree?: boolean;
  /** Adds a reference to data. */
  incRef?(dataId: DataId): void;
  /** True on the fake backend while arrays filled by JavaScript are left empty. */
  readonly skipsFills?: boolean;
  /** Removes a reference to data, and frees it with the last one. Returns whether it was freed. */
  disposeData?(dataId: DataId, force?: boolean): boolean;
  /** Reads values asynchronously. */
  read?(dataId: DataId): Promise<unknown>;
  /** Reads values. */
  readSync?(dataId: DataId): unknown;
  /** Adds a reference to data. */
  incRef?(dataId: DataId): void;
  /** Number of `DataId`s of the backend. */
  numDataIds(): number;
  /**
   * Runs a registered kernel in place of the engine's `runKernelFunc`, on the fake backend only. Returns undefined if
   * the engine must run it.
   */
  runKernel?(parameters: KernelParameters): Tensor | Tensor[] | undefined;
  /**
   * Ends the innermost scope in place of the engine's `endScope`, on the fake backend only. Returns false if the engine
   * must end it.
   */
  endScope?(result: unknown): boolean;
}

/** The parts of tfjs-core's engine that its own types hide. */
export interface EngineInternals {
  /** Tape, scopes, counts and tensors of the engine. */
  readonly state: {
    activeTape: EngineTapeNode[] | null;
    activeScope: { readonly name: string; readonly id: number } | null;
    readonly scopeStack: { readonly name: string; readonly id: number; readonly track: readonly Tensor[] }[];
    gradientDepth: number;
    kernelDepth: number;
    readonly profiling: boolean;
    numTensors: number;
    numBytes: number;
    numDataBuffers: number;
    tensorInfo: WeakMap<DataId, { backend: EngineBackend; bytes: number }>;
  };
  /** Name of the current backend. */
  backendName: string | undefined;
  /** Instance of the current backend. */
  backendInstance: EngineBackend | undefined;
  /** Pending while a backend starts asynchronously. */
  pendingBackendInit: Promise<boolean> | null | undefined;
  /** Backend instances by name. */
  readonly registry: Record<string, EngineBackend>;
  /** Registered backend factories by name. */
  readonly registryFactory: Record<string, unknown>;
  /** Variables by name, in the order of their creation. */
  readonly registeredVariables: Record<string, Variable>;
  /** Runs a kernel or a `customGrad`, and records it on the tape. */
  runKernelFunc(parameters: KernelParameters): Tensor | Tensor[];
  /** Returns the tensors to save for a kernel's gradient. */
  getTensorsForGradient(kernelName: string, inputs: NamedTensorMap, outputs: Tensor[]): Tensor[] | null;
  /** Clones tensors to save them for the backward pass. */
  saveTensorsForBackwardMode(tensors: Tensor[]): Tensor[];
  /** Copies a tensor with `Identity`. */
  clone(x: Tensor): Tensor;
  /** `gradient` is that of a `customGrad`. The gradient of a registered kernel is registered separately. */
  addTapeNode(
    kernelName: string,
    inputs: NamedTensorMap,
    outputs: Tensor[],
    gradient: unknown,
    saved: Tensor[],
    attributes: KernelAttributes | undefined,
  ): void;
  /** Runs a forward and a backward pass. */
  gradients(f: () => Tensor, xs: Tensor[], dy?: Tensor, allowNoGradients?: boolean): GradientsResult;
  /** Runs a function in a scope that disposes of its tensors. */
  tidy(nameOrFn: unknown, fn?: () => unknown): unknown;
  /** Returns an id for a new tensor. */
  nextTensorId(): number;
  /** Starts recording for a gradient. */
  startTape(): void;
  /** Ends recording for a gradient. */
  endTape(): void;
  /** Opens a scope that disposes of its tensors when it ends. */
  startScope(name?: string): void;
  /** Ends the innermost scope, and keeps the tensors in `result`. */
  endScope(result?: unknown): void;
  /** Adds a tensor to the current scope. */
  track<T extends Tensor>(tensor: T): T;
  /** Counts a new tensor and its data. */
  trackTensor(tensor: Tensor, backend: EngineBackend): void;
  /** Runs a registered kernel. */
  runKernel(kernelName: string, inputs: unknown, attributes?: unknown): Tensor | Tensor[];
  /** Makes a tensor on existing data. */
  makeTensorFromTensorInfo(info: TensorInfo, backend?: EngineBackend): Tensor;
  /** Makes a tensor from values. */
  makeTensor(values: unknown, shape: readonly number[], dtype: string): Tensor;
  /** Makes a variable from a tensor. */
  makeVariable(initialValue: Tensor, trainable?: boolean, name?: string, dtype?: string): Variable;
  /** Adds a reference to the data of a tensor. */
  incRef(tensor: Tensor, backend: unknown): void;
  /** Makes a backend current. Resolves to whether it started. */
  setBackend(name: string): Promise<boolean>;
  /** Runs the setup functions of the current backend's kernels. */
  setupRegisteredKernels(): void;
  /** Disposes of a tensor. */
  disposeTensor(tensor: Tensor): void;
  /** Forgets data that a backend has freed. */
  removeDataId(dataId: DataId, backend: EngineBackend): void;
  /** Reads values asynchronously. */
  read(dataId: DataId): Promise<unknown>;
  /** Reads values. */
  readSync(dataId: DataId): unknown;
}

const patched = [
  "runKernelFunc",
  "getTensorsForGradient",
  "saveTensorsForBackwardMode",
  "clone",
  "addTapeNode",
  "gradients",
  "tidy",
  "endScope",
  "makeVariable",
  "trackTensor",
  "incRef",
  "setBackend",
  "setupRegisteredKernels",
  "disposeTensor",
  "read",
  "readSync",
] as const;

/**
 * Returns the single engine of the process, after checking that the hook supports it.
 *
 * @throws RematError `ENGINE_UNKNOWN` if it lacks methods that the hook patches
 */
export function engineInternals(): EngineInternals {
  const found = engine() as unknown as EngineInternals;
  if (found === known) return found;
  const missing = patched.filter((name) => typeof found[name] !== "function");
  if (missing.length > 0)
    throw new RematError(
      "ENGINE_UNKNOWN",
      `this TensorFlow.js engine lacks ${missing.join(", ")}, which remat patches. Install TensorFlow.js 4.17 or a later 4.x.`,
    );
  known = found;
  return found;
}

/** Cached, because every op reads it. */
let known: EngineInternals | undefined;

/**
 * Returns whether a tensor is a variable. TensorFlow.js marks variables by `trainable`. This is cheaper than
 * `instanceof`, which reads five properties.
 *
 * @example
 * isVariable(tf.variable(tf.scalar(1))); // true
 */
export const isVariable = (tensor: TensorInfo): tensor is Variable => (tensor as Variable).trainable !== undefined;
