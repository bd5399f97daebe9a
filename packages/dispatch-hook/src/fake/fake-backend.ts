import { bytesPerElement, RematError } from "@remat/trace";
import {
  type BackendTimingInfo,
  type BackendValues,
  backend_util,
  type DataId,
  type DataType,
  KernelBackend,
  type KernelConfig,
  type Tensor,
  type TensorInfo,
} from "@tensorflow/tfjs-core";
import type { Backend, BackendKernels } from "../backends/index.js";
import { engineInternals, type KernelParameters, type SelfReportingBackend } from "../engine/index.js";
import type { Infer, KernelCall, KernelTraits } from "../kernels/index.js";
import { runningModule } from "../module-namer.js";
import { DataDependentError } from "./data-dependent-error.js";
import { endFakeScope } from "./end-fake-scope.js";
import { type ComplexParts, FakeData } from "./fake-data.js";
import { isReporting } from "./is-reporting.js";
import { runFakeKernel } from "./run-fake-kernel.js";
import { areFillsSkipped } from "./skip-fills.js";

/** Values of constants are kept up to this many elements. For larger ones only the shape is known. */
const keptElements = 65_536;

const skippedFill = "a fill in JavaScript";

const sizeOf = (shape: readonly number[]): number => {
  let size = 1;
  for (let i = 0; i < shape.length; i++) size *= shape[i];
  return size;
};

/** Hands out data ids and counts references like the backend that it simulates, but allocates no memory. @internal */
export class FakeBackend extends KernelBackend implements SelfReportingBackend, KernelCall {
  readonly standsFor: Backend;
  private readonly rules: ReadonlyMap<string, Infer>;
  readonly traits: KernelTraits;
  /** The running kernel. */
  kernel = "";
  /** Set by the dispatch hook while a mode is open. */
  dataWatcher: SelfReportingBackend["dataWatcher"] = undefined;
  /** The kernels that are registered for this backend, by name. */
  readonly configs: Map<string, KernelConfig> = new Map();
  private dataIds = 0;

  get skipsFills(): boolean {
    return areFillsSkipped();
  }

  /**
   * @param standsFor the backend whose kernels, data ids and sharing this one simulates
   * @param rules the outputs of its kernels
   */
  constructor(standsFor: Backend, { traits }: BackendKernels, rules: ReadonlyMap<string, Infer>) {
    super();
    this.standsFor = standsFor;
    this.rules = rules;
    this.traits = traits;
  }

  /** Makes a tensor for the running kernel. */
  make(shape: number[], dtype: DataType): TensorInfo {
    const dataId = this.allocate(shape, dtype, undefined);
    dataId.isNumber = shape.length === 0 && dtype === "float32";
    return { dataId, shape, dtype };
  }

  /** Makes a tensor with known values. */
  makeKnown(shape: number[], dtype: DataType, values: BackendValues | undefined): TensorInfo {
    return { dataId: this.allocate(shape, dtype, values), shape, dtype };
  }

  /** Makes a complex tensor with its own data ids and the values of the given parts, if known. */
  makeComplex(shape: number[], real?: BackendValues, imag?: BackendValues): TensorInfo {
    const parts = this.makeParts(shape, real, imag, this.kernel);
    return { dataId: this.allocate(shape, "complex64", undefined, parts), shape, dtype: "complex64" };
  }

  /** Makes a tensor on `x`'s data id. */
  share(x: TensorInfo, shape: number[], dtype: DataType): TensorInfo {
    this.incRef(x.dataId);
    return { dataId: x.dataId, shape, dtype };
  }

  /** Makes a tensor with `x`'s values and its own data id. */
  copy(x: TensorInfo, shape: number[], dtype: DataType): TensorInfo {
    const { values, parts } = x.dataId instanceof FakeData ? x.dataId : new FakeData(dtype, "", 0);
    if (dtype === "complex64") return this.makeComplex(shape, parts?.real.values, parts?.imag.values);
    return { dataId: this.allocate(shape, dtype, values), shape, dtype };
  }

  /** Runs a kernel inside the running one, and returns its output. The outer kernel stays the running one. */
  run(kernel: string, inputs: object, attributes: object = {}): TensorInfo {
    const rule = this.rules.get(kernel) as Infer<object, object>;
    return rule(inputs, attributes, this) as TensorInfo;
  }

  /** Runs a registered kernel in place of the engine, for the dispatch hook. */
  runKernel(parameters: KernelParameters): Tensor | Tensor[] | undefined {
    return runFakeKernel(engineInternals(), parameters, this.configs);
  }

  /** Ends a scope in place of the engine, for the dispatch hook. */
  endScope(result: unknown): boolean {
    return endFakeScope(engineInternals(), result);
  }

  tensorOf(made: TensorInfo | TensorInfo[]): Tensor {
    return engineInternals().makeTensorFromTensorInfo(made as TensorInfo);
  }

  /** Frees temporaries of a kernel. */
  release(...tensors: TensorInfo[]): void {
    for (const { dataId } of tensors) {
      if (dataId instanceof FakeData) this.disposeData(dataId);
      else ownerOf(dataId).disposeData(dataId);
    }
  }

  /** Returns the values of a constant or a real tensor. Undefined for outputs of fake kernels. */
  constant(x: TensorInfo): BackendValues | undefined {
    return x.dataId instanceof FakeData ? x.dataId.values : (engineInternals().readSync(x.dataId) as BackendValues);
  }

  /** Returns the values of a constant made in fake mode. */
  kept(x: TensorInfo): BackendValues | undefined {
    return x.dataId instanceof FakeData ? x.dataId.values : undefined;
  }

  /** Returns the values of a part of a complex tensor, for `Real` and `Imag`. */
  part(x: TensorInfo, which: keyof ComplexParts): BackendValues | undefined {
    return x.dataId instanceof FakeData ? x.dataId.parts?.[which].values : undefined;
  }

  /** Throws the error for kernels whose output shapes depend on values. */
  dependsOnData(): never {
    throw new DataDependentError(
      this.kernel,
      `The output shapes of kernel ${this.kernel} depend on values`,
      "Run this part on a real backend, or use an op whose output shape depends only on input shapes.",
    );
  }

  /** Throws the error for kernels that need values. */
  readsData(): never {
    throw new DataDependentError(this.kernel, `Kernel ${this.kernel} reads values`, "Run this part on a real backend.");
  }

  /** Forgets the values of a tensor that represents a weight. */
  forget(dataId: DataId, madeBy: string): void {
    if (!(dataId instanceof FakeData)) return;
    dataId.values = undefined;
    dataId.madeBy = madeBy;
  }

  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    const size = sizeOf(shape);
    const given = values != null && values.length === size;
    return this.allocate(
      shape,
      dtype,
      given && size <= keptElements ? values : undefined,
      undefined,
      given ? "a large constant" : skippedFill,
    );
  }

  override readSync(dataId: DataId): BackendValues {
    const data = dataId as FakeData;
    if (data.parts !== undefined) {
      const { real, imag } = data.parts;
      if (real.values !== undefined && imag.values !== undefined) {
        return backend_util.mergeRealAndImagArrays(real.values as Float32Array, imag.values as Float32Array);
      }
    }
    if (data.values !== undefined) return data.values;
    if (data.isNumber && isReporting()) return Float32Array.of(Number.NaN);
    const by = /^[A-Z_]/.test(data.madeBy) ? `kernel ${data.madeBy}` : data.madeBy;
    throw new DataDependentError(
      data.madeBy,
      `The values of a fake tensor made by ${by} were read`,
      "Read only constants, or run this part on a real backend.",
    );
  }

  override async read(dataId: DataId): Promise<BackendValues> {
    return this.readSync(dataId);
  }

  override readToGPU(dataId: DataId): never {
    this.readSync(dataId);
    throw new DataDependentError("readToGPU", "A fake tensor was read to the GPU", "Leave fake mode first.");
  }

  override incRef(dataId: DataId): void {
    if (dataId instanceof FakeData) dataId.refCount++;
    else ownerOf(dataId).incRef(dataId);
  }

  override refCount(dataId: DataId): number {
    return dataId instanceof FakeData ? dataId.refCount : ownerOf(dataId).refCount(dataId);
  }

  override disposeData(dataId: DataId, force = false): boolean {
    const data = dataId as FakeData;
    if (data.refCount <= 0) return true;
    data.refCount = force ? 0 : data.refCount - 1;
    if (data.refCount > 0) return false;
    this.dataIds--;
    this.dataWatcher?.removed(data);
    data.values = undefined;
    if (data.parts !== undefined && this.traits.complexIsPair) {
      this.disposeData(data.parts.real);
      this.disposeData(data.parts.imag);
    }
    return true;
  }

  /** Returns this backend's entry for data, for the dispatch hook. */
  entryOf(dataId: DataId): FakeData | undefined {
    return dataId instanceof FakeData && dataId.refCount > 0 ? dataId : undefined;
  }

  override numDataIds(): number {
    return this.dataIds;
  }

  override memory(): { unreliable: boolean; reasons?: string[] } {
    return { unreliable: false, reasons: [] };
  }

  override async time(run: () => void): Promise<BackendTimingInfo> {
    run();
    return { kernelMs: 0 };
  }

  override floatPrecision(): 16 | 32 {
    return 32;
  }

  override dispose(): void {}

  private makeParts(
    shape: readonly number[],
    real: BackendValues | undefined,
    imag: BackendValues | undefined,
    madeBy: string,
  ): ComplexParts {
    const part = (values: BackendValues | undefined): FakeData =>
      this.traits.complexIsPair
        ? this.allocate(shape, "float32", values, undefined, madeBy)
        : new FakeData("float32", madeBy, 0, values);
    return { real: part(real), imag: part(imag) };
  }

  private allocate(
    shape: readonly number[],
    dtype: DataType,
    values: BackendValues | undefined,
    given?: ComplexParts,
    madeBy = this.kernel,
  ): FakeData {
    const parts = dtype === "complex64" ? (given ?? this.makeParts(shape, undefined, undefined, madeBy)) : undefined;
    const bytes = parts !== undefined && this.traits.complexIsPair ? 0 : sizeOf(shape) * (bytesPerElement(dtype) ?? 0);
    if (bytes > Number.MAX_SAFE_INTEGER) throw beyondCounting(madeBy, shape, dtype, bytes);
    this.dataIds++;
    const data = new FakeData(dtype, madeBy, bytes, values, parts);
    this.dataWatcher?.added(data, data);
    return data;
  }
}

function beyondCounting(kernel: string, shape: readonly number[], dtype: DataType, bytes: number): RematError {
  const module = runningModule();
  const where = module === undefined ? "" : ` (in module '${module}')`;
  return new RematError(
    "TENSOR_SIZE",
    `${kernel} makes ${dtype}[${shape.join(",")}]${where}, ${bytes.toExponential(2)} B, ` +
      "more than the limit of 2^53 - 1. Look for a size in the model that is too large.",
  );
}

/** A real tensor stays on its own backend. Its data need not move, since fake kernels read only shapes. */
function ownerOf(dataId: DataId): KernelBackend {
  const info = engineInternals().state.tensorInfo.get(dataId);
  if (info === undefined)
    throw new DataDependentError(
      "dispose",
      "A tensor was used after it was disposed",
      "Keep it with tf.keep, or create it later.",
    );
  return info.backend as KernelBackend;
}
