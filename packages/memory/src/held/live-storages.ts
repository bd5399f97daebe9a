import { categoryNames, type OpIndex, RematError, type StorageIndex, type Trace } from "@remat/trace";
import { roundUpBytes, unitBytesOn } from "../allocators/device-units.js";

/** Number of cells for the bytes of one device: one per category, then the total. */
export const rowWidth: number = categoryNames.length + 1;
export const totalColumn: number = categoryNames.length;

const Life = { unknown: 0, alive: 1, freed: 2 } as const;

/**
 * Tracks which storages are alive, in which category, and their totals by device. It uses columns by storage, without
 * an object per event. On devices of the trace's own kind, sizes are rounded up to the allocation unit.
 */
export class LiveStorages {
  category: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** Sizes in bytes, rounded up to the allocation unit. A freed storage has its last size. */
  bytes: Float64Array<ArrayBuffer> = new Float64Array(0);
  /** Index into `devices`. */
  device: Uint16Array<ArrayBuffer> = new Uint16Array(0);
  /** The op whose event came next when the storage was allocated. If an op created the storage, it was this op. */
  op: Int32Array<ArrayBuffer> = new Int32Array(0);
  private life: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  readonly devices: string[] = [];
  /** `totals[device * rowWidth + category]`. */
  totals: Float64Array<ArrayBuffer> = new Float64Array(2 * rowWidth);
  /** Devices with memory in use, in the order in which they first had some. */
  readonly present: number[] = [];
  /** Categories that have contained memory. */
  readonly seen: Uint8Array = new Uint8Array(categoryNames.length);
  private readonly units: number[] = [];
  private readonly deviceOfString: number[] = [];

  isAlive(storage: StorageIndex): boolean {
    return this.life[storage] === Life.alive;
  }

  /**
   * Returns the sum of the sizes of the live storages of `tensors`. With `orWere`, freed storages also count. A storage
   * counts once per tensor on it.
   */
  bytesOf(trace: Trace, tensors: Int32Array, orWere = false): number {
    let sum = 0;
    for (let i = 0; i < tensors.length; i++)
      for (const storage of trace.tensorStorages(tensors[i]))
        if (this.isAlive(storage) || (orWere && this.life[storage] === Life.freed)) sum += this.bytes[storage];
    return sum;
  }

  allocate(trace: Trace, storage: StorageIndex, category: number, event: number, nextOp: OpIndex): void {
    if (storage >= this.life.length) this.grow(Math.max(trace.storages.count, storage + 1));
    if (this.life[storage] !== Life.unknown) throw this.outOfOrder("allocate", storage, event, "one that is new");
    const device = this.deviceIndex(trace, trace.storages.device[storage]);
    const bytes = roundUpBytes(trace.storages.bytes[storage], this.units[device]);
    this.life[storage] = Life.alive;
    this.category[storage] = category;
    this.bytes[storage] = bytes;
    this.device[storage] = device;
    this.op[storage] = nextOp;
    if (bytes > 0) this.add(device, category, bytes);
  }

  free(storage: StorageIndex, event: number): void {
    this.expectAlive("free", storage, event);
    this.life[storage] = Life.freed;
    if (this.bytes[storage] > 0) this.remove(this.device[storage], this.category[storage], this.bytes[storage]);
  }

  resize(storage: StorageIndex, requestedBytes: number, event: number): void {
    this.expectAlive("resize", storage, event);
    const device = this.device[storage];
    const bytes = roundUpBytes(requestedBytes, this.units[device]);
    const change = bytes - this.bytes[storage];
    this.bytes[storage] = bytes;
    if (change > 0) this.add(device, this.category[storage], change);
    else if (change < 0) this.remove(device, this.category[storage], -change);
  }

  categorize(storage: StorageIndex, category: number, event: number): void {
    this.expectAlive("categorize", storage, event);
    const old = this.category[storage];
    if (old === category) return;
    const row = this.device[storage] * rowWidth;
    this.category[storage] = category;
    if (this.bytes[storage] > 0) this.seen[category] = 1;
    this.show(this.device[storage]);
    this.totals[row + old] -= this.bytes[storage];
    this.totals[row + category] += this.bytes[storage];
  }

  private add(device: number, category: number, bytes: number): void {
    this.show(device);
    this.seen[category] = 1;
    this.totals[device * rowWidth + category] += bytes;
    this.totals[device * rowWidth + totalColumn] += bytes;
  }

  private remove(device: number, category: number, bytes: number): void {
    const total = device * rowWidth + totalColumn;
    this.totals[device * rowWidth + category] -= bytes;
    this.totals[total] -= bytes;
    // A snapshot does not list empty devices.
    if (this.totals[total] === 0) this.present.splice(this.present.indexOf(device), 1);
  }

  private show(device: number): void {
    if (!this.present.includes(device)) this.present.push(device);
  }

  private deviceIndex(trace: Trace, name: number): number {
    const known = this.deviceOfString[name];
    if (known !== undefined) return known;
    const device = trace.strings[name];
    const index = this.devices.push(device) - 1;
    this.units.push(unitBytesOn(device, trace.header));
    if ((index + 1) * rowWidth > this.totals.length) this.totals = grown(this.totals, 2 * this.totals.length);
    return (this.deviceOfString[name] = index);
  }

  private grow(count: number): void {
    const length = Math.max(count, 2 * this.life.length);
    this.category = grown(this.category, length);
    this.bytes = grown(this.bytes, length);
    this.device = grown(this.device, length);
    this.op = grown(this.op, length);
    this.life = grown(this.life, length);
  }

  private expectAlive(verb: string, storage: StorageIndex, event: number): void {
    if (this.life[storage] !== Life.alive) throw this.outOfOrder(verb, storage, event, "one that is alive");
  }

  private outOfOrder(verb: string, storage: StorageIndex, event: number, expected: string): RematError {
    const life = this.life[storage];
    const found = life === Life.alive ? "is alive" : life === Life.freed ? "was freed before" : "was not allocated yet";
    return new RematError(
      "TRACE_EVENT_ORDER",
      `event ${event} (${verb}) is out of order: storage ${storage} ${found}; expected ${expected}. Record the trace again. If the error persists, report a bug in the program that wrote it.`,
    );
  }
}

type Column = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

function grown<T extends Column>(column: T, length: number): T {
  const larger = new (column.constructor as new (length: number) => T)(length);
  larger.set(column);
  return larger;
}
