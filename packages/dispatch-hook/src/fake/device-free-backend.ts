import { elementsOf } from "@remat/trace";
import type { BackendValues, DataId, DataType, KernelBackend, TensorInfo } from "@tensorflow/tfjs-core";
import { util } from "@tensorflow/tfjs-core";
import type { Backend, DataEntry } from "../backends/index.js";
import { engineInternals } from "../engine/index.js";
import { DataDependentError } from "./data-dependent-error.js";
import type { FakeInstance } from "./fake-instance.js";
import { isReporting } from "./is-reporting.js";
import { areFillsSkipped } from "./skip-fills.js";

/** The data store of a backend. */
export interface EntryStore {
  has(dataId: DataId): boolean;
  get(dataId: DataId): DataEntry;
  set(dataId: DataId, entry: DataEntry): unknown;
  delete(dataId: DataId): boolean;
  numDataIds(): number;
}

/** An entry on a device with its texture or buffer, if it is on the device. */
interface DeviceEntry extends DataEntry {
  readonly texture?: object | null;
  readonly resource?: object | null;
}

const isStore = (value: unknown): value is EntryStore =>
  typeof value === "object" && value !== null && "numDataIds" in value && "dataMover" in value;

/** Returns the data store of an instance and the name of its field. @internal */
export function storeOf(instance: object): readonly [name: string, store: EntryStore] | undefined {
  return Object.entries(instance).find((entry): entry is [string, EntryStore] => isStore(entry[1]));
}

/** Returns an entry with the layout of the given one, on an empty texture or buffer. @internal */
export function layoutOf(entry: DeviceEntry): DataEntry {
  const { texture, resource } = entry;
  return { ...entry, ...(texture && { texture: { texture: {} } }), ...(resource && { resource: {} }) } as DataEntry;
}

const ownerOf = (dataId: DataId): KernelBackend | undefined =>
  engineInternals().state.tensorInfo.get(dataId)?.backend as KernelBackend | undefined;

/**
 * Stores the outputs of fake kernels. Data of another backend stays on that backend. Kernels see the layout that it had
 * when they first read it.
 */
class StoreBesideOthers implements EntryStore {
  private readonly own = new Map<DataId, DataEntry>();
  private readonly others = new WeakMap<DataId, DataEntry>();
  /** The hook recognizes a store by this property. */
  readonly dataMover: object = {};

  has(dataId: DataId): boolean {
    return this.own.has(dataId);
  }

  get(dataId: DataId): DataEntry {
    const known = this.own.get(dataId) ?? this.others.get(dataId);
    if (known !== undefined) return known;
    const owner = ownerOf(dataId);
    const store = owner && storeOf(owner)?.[1];
    if (store?.has(dataId) !== true)
      throw new DataDependentError(
        "dispose",
        "A tensor was used after it was disposed",
        "Keep it with tf.keep, or create it later.",
      );
    const entry = layoutOf(store.get(dataId));
    this.others.set(dataId, entry);
    return entry;
  }

  set(dataId: DataId, entry: DataEntry): void {
    this.own.set(dataId, entry);
  }

  delete(dataId: DataId): boolean {
    return this.own.delete(dataId);
  }

  numDataIds(): number {
    return this.own.size;
  }
}

type Instance = KernelBackend & {
  makeTensorInfo(shape: number[], dtype: DataType, values?: BackendValues): TensorInfo;
};

/**
 * Returns a backend for fake mode: an instance of the class of `real`, without its device. It runs TensorFlow.js's own
 * kernels, whose outputs have the same size, as `tf.memory()` shows.
 *
 * @internal
 */
export function deviceFreeBackend(standsFor: Backend, real: KernelBackend): FakeInstance {
  const made = standsFor.withoutDevice?.(real) as Instance;
  const store = new StoreBesideOthers();
  const [precision, epsilon] = [real.floatPrecision(), real.epsilon()];
  const { disposeData, incRef, decRef, refCount } = made as Instance & { decRef(dataId: DataId): void };
  /** The other backend that owns the data. Undefined if it is this one, even if the data is gone. */
  const ownerElse = (dataId: DataId): KernelBackend | undefined => {
    const owner = store.has(dataId) ? made : ownerOf(dataId);
    return owner === made ? undefined : owner;
  };
  const [name] = storeOf(real) ?? ["data"];
  const readSync = (dataId: DataId): BackendValues => valuesOf(store.get(dataId));
  return Object.defineProperty(
    Object.assign(made, {
      [name]: store,
      standsFor,
      kernel: "",
      isDeviceFree: true,
      make: (shape: number[], dtype: DataType) =>
        made.makeTensorInfo(shape, dtype, util.getArrayFromDType(dtype, util.sizeFromShape(shape)) as BackendValues),
      forget: () => {},
      floatPrecision: () => precision,
      epsilon: () => epsilon,
      incRef(dataId: DataId) {
        const owner = ownerElse(dataId);
        if (owner === undefined) incRef.call(made, dataId);
        else owner.incRef(dataId);
      },
      decRef: (dataId: DataId) => ownerElse(dataId) === undefined && decRef.call(made, dataId),
      refCount: (dataId: DataId) => ownerElse(dataId)?.refCount(dataId) ?? refCount.call(made, dataId),
      disposeData: (dataId: DataId, force?: boolean) =>
        ownerElse(dataId)?.disposeData(dataId, force) ?? disposeData.call(made, dataId, force),
      readSync,
      read: (dataId: DataId) => Promise.resolve().then(() => readSync(dataId)),
      dispose: () => {},
    }),
    "skipsFills",
    { get: areFillsSkipped },
  ) as unknown as FakeInstance;
}

/** Returns constants from JavaScript, and NaN for a number that is only reported. */
function valuesOf({ values, shape = [], dtype }: DataEntry): BackendValues {
  const size = elementsOf(shape);
  if (values != null && values.length === size) return values as BackendValues;
  if (size === 1 && dtype === "float32" && isReporting()) return Float32Array.of(Number.NaN);
  throw new DataDependentError(
    "a kernel",
    "The values of a fake tensor were read",
    "Read only constants, or run this part on a real backend.",
  );
}
