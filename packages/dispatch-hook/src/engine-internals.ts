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
  readonly kernelName?: string;
  readonly inputs: NamedTensorMap;
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
  incRef?(dataId: DataId): void;
  /** True on the fake backend while arrays filled by JavaScript are left empty. */
  readonly skipsFills?: boolean;
  disposeData?(dataId: DataId, force?: boolean): boolean;
  read?(dataId: DataId): Promise<unknown>;
  readSync?(dataId: DataId): unknown;
  incRef?(dataId: DataId): void;
  numDataIds(): number;
}

/** The parts of tfjs-core's engine that its own types hide. */
export interface EngineInternals {
  readonly state: {
    activeTape: EngineTapeNode[] | null;
    activeScope: { readonly name: string; readonly id: number } | null;
    readonly scopeStack: readonly { readonly name: string; readonly track: readonly Tensor[] }[];
    gradientDepth: number;
    kernelDepth: number;
    numTensors: number;
    numBytes: number;
    numDataBuffers: number;
    tensorInfo: WeakMap<DataId, { backend: EngineBackend; bytes: number }>;
  };
  backendName: string | undefined;
  backendInstance: EngineBackend | undefined;
  pendingBackendInit: Promise<boolean> | null | undefined;
  readonly registry: Record<string, EngineBackend>;
  readonly registryFactory: Record<string, unknown>;
  readonly registeredVariables: Record<string, Variable>;
  runKernelFunc(parameters: KernelParameters): Tensor | Tensor[];
  getTensorsForGradient(kernelName: string, inputs: NamedTensorMap, outputs: Tensor[]): Tensor[] | null;
  saveTensorsForBackwardMode(tensors: Tensor[]): Tensor[];
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
  gradients(f: () => Tensor, xs: Tensor[], dy?: Tensor, allowNoGradients?: boolean): GradientsResult;
  tidy(nameOrFn: unknown, fn?: () => unknown): unknown;
  nextTensorId(): number;
  startTape(): void;
  endTape(): void;
  startScope(name?: string): void;
  endScope(result?: unknown): void;
  track<T extends Tensor>(tensor: T): T;
  trackTensor(tensor: Tensor, backend: EngineBackend): void;
  runKernel(kernelName: string, inputs: unknown, attributes?: unknown): Tensor | Tensor[];
  makeTensorFromTensorInfo(info: TensorInfo, backend?: EngineBackend): Tensor;
  makeTensor(values: unknown, shape: readonly number[], dtype: string): Tensor;
  makeVariable(initialValue: Tensor, trainable?: boolean, name?: string, dtype?: string): Variable;
  incRef(tensor: Tensor, backend: unknown): void;
  setBackend(name: string): Promise<boolean>;
  setupRegisteredKernels(): void;
  disposeTensor(tensor: Tensor): void;
  removeDataId(dataId: DataId, backend: EngineBackend): void;
  read(dataId: DataId): Promise<unknown>;
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
      `this TensorFlow.js engine lacks ${missing.join(", ")}, which the dispatch hook patches: expected @tensorflow/tfjs-core 4.22; install that version`,
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
