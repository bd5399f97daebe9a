import { backend as currentInstance, type DataId, getKernel, type TensorInfo } from "@tensorflow/tfjs-core";
import type { Backend, DataEntry } from "../backends/index.js";
import type { KernelAttributes, KernelInputs } from "../kernels/index.js";
import { type EntryStore, layoutOf, storeOf } from "./device-free-backend.js";

/** An entry on a device: whether it is there, packed, or part of another entry. */
interface DeviceEntry extends DataEntry {
  readonly texture?: object | null;
  readonly resource?: object | null;
  readonly isPacked?: boolean;
  readonly slice?: object | null;
}

/** Stores the outputs of kernels, and reproduces the layout of the real backend's data for them. Only outputs count. */
class CountingStore implements EntryStore {
  private readonly real: EntryStore;
  private readonly bytesOf: Backend["bytesOf"];
  private readonly entries = new Map<DataId, DataEntry>();
  private readonly given = new Map<DataId, DataEntry>();
  /** Allocations and frees, in order. */
  readonly events: { readonly dataId: DataId; readonly bytes: number }[] = [];

  constructor(real: EntryStore, bytesOf: Backend["bytesOf"]) {
    this.real = real;
    this.bytesOf = bytesOf;
  }

  has(dataId: DataId): boolean {
    return this.entries.has(dataId) || this.given.has(dataId) || this.real.has(dataId);
  }

  get(dataId: DataId): DataEntry {
    let entry = this.entries.get(dataId) ?? this.given.get(dataId);
    if (entry === undefined) this.given.set(dataId, (entry = layoutOf(this.real.get(dataId))));
    return entry;
  }

  set(dataId: DataId, entry: DataEntry): void {
    this.entries.set(dataId, entry);
    this.events.push({ dataId, bytes: this.bytesOf(entry) });
  }

  delete(dataId: DataId): boolean {
    const entry = this.entries.get(dataId);
    if (entry === undefined) return false;
    this.events.push({ dataId, bytes: -this.bytesOf(entry) });
    return this.entries.delete(dataId);
  }

  numDataIds(): number {
    return this.entries.size;
  }

  clear(): void {
    this.entries.clear();
    this.given.clear();
    this.events.length = 0;
  }
}

/** A backend without its device, and known results for its kernels. */
interface Rehearsal {
  readonly instance: { readonly tensorDataPendingDisposal?: DataId[]; dispatchCountInPass?: number };
  readonly store: CountingStore;
  readonly real: EntryStore;
  readonly known: Map<string, number | undefined>;
}

const rehearsals = new WeakMap<object, Rehearsal>();

function rehearsalOf(backend: Backend, instance: object): Rehearsal | undefined {
  const found = rehearsals.get(instance);
  if (found !== undefined || backend.withoutDevice === undefined) return found;
  const made = backend.withoutDevice(instance) as Record<string, unknown>;
  const named = storeOf(instance);
  if (named === undefined) return undefined;
  const [name, real] = named;
  const store = new CountingStore(real, (entry) => backend.bytesOf(entry));
  made[name] = store;
  const rehearsal = { instance: made, store, real, known: new Map<string, number | undefined>() };
  rehearsals.set(instance, rehearsal);
  return rehearsal;
}

/**
 * Returns the peak memory of a kernel call of the running backend in bytes beyond its inputs. It runs the kernel
 * without the device on inputs with their current layout: packed or not, on the device or not yet. Undefined if the
 * kernel reads values that were not computed.
 *
 * @internal
 */
export function peakWithoutDevice(
  backend: Backend,
  kernel: string,
  inputs: KernelInputs,
  attributes: KernelAttributes | undefined,
): number | undefined {
  const rehearsal = rehearsalOf(backend, currentInstance());
  const config = getKernel(kernel, backend.name);
  if (rehearsal === undefined || config === undefined) return undefined;
  const { known } = rehearsal;
  const key = JSON.stringify([kernel, describeInputs(rehearsal.real, inputs), attributes]);
  if (!known.has(key)) known.set(key, rehearse(rehearsal, config.kernelFunc as KernelFunction, inputs, attributes));
  return known.get(key);
}

type KernelFunction = (call: { inputs: unknown; attrs: unknown; backend: unknown }) => TensorInfo | TensorInfo[];

function rehearse(
  { instance, store }: Rehearsal,
  run: KernelFunction,
  inputs: KernelInputs,
  attributes: KernelAttributes | undefined,
): number | undefined {
  // The number of queued kernels varies. Here it is zero, so that nothing is freed before the end.
  instance.dispatchCountInPass = 0;
  try {
    const made = [run({ inputs: copyOfInputs(inputs), attrs: attributes ?? {}, backend: instance })].flat();
    const views = new Set(
      made.filter(({ dataId }) => (store.get(dataId) as DeviceEntry).slice != null).map(({ dataId }) => dataId),
    );
    return mostOf(store.events, views);
  } catch {
    return undefined;
  } finally {
    // No kernels are queued, so nothing has to wait.
    instance.tensorDataPendingDisposal?.splice(0);
    store.clear();
  }
}

function mostOf(events: CountingStore["events"], views: ReadonlySet<DataId>): number {
  let bytes = 0;
  let most = 0;
  for (const event of events) if (!views.has(event.dataId)) most = Math.max(most, (bytes += event.bytes));
  return most;
}

/** A kernel may temporarily change the shape of an input. */
function copyOfInputs(inputs: KernelInputs): unknown {
  const copy = ({ dataId, shape, dtype }: TensorInfo): TensorInfo => ({ dataId, shape, dtype });
  if (Array.isArray(inputs)) return (inputs as readonly TensorInfo[]).map(copy);
  return Object.fromEntries(
    Object.entries(inputs as Readonly<Record<string, TensorInfo | readonly TensorInfo[] | undefined>>).map(
      ([name, input]) => [name, Array.isArray(input) ? input.map(copy) : input && copy(input as TensorInfo)],
    ),
  );
}

/** Describes all properties of the inputs that a kernel's program depends on. */
function describeInputs(real: EntryStore, inputs: KernelInputs): unknown {
  return Object.entries(inputs).map(([name, input]) => [
    name,
    [input as TensorInfo | readonly TensorInfo[] | undefined].flat().map((each) => {
      if (each == null) return null;
      const entry = (real.has(each.dataId) ? real.get(each.dataId) : {}) as DeviceEntry;
      const { texture, resource, isPacked, shape, slice } = entry;
      return [each.shape, each.dtype, (texture ?? resource) != null, isPacked === true, shape, slice != null];
    }),
  ]);
}
