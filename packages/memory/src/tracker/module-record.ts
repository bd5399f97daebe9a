import type { CategoryName, MemorySnapshot } from "@remat/trace";
import { totalColumn } from "../held/live-storages.js";
import { type DeviceRows } from "../index.js";

/** Memory statistics of one module. Sizes are rounded up to the allocation unit. */
export interface ModuleMemory<State extends string> {
  readonly fqn: string;
  /** Class of the module. */
  readonly kind: string;
  /** Bytes of its parameters, including those of submodules. */
  readonly parameterBytes: number;
  /** Bytes of its buffers, including those of submodules. */
  readonly bufferBytes: number;
  /** Bytes of the tensors passed to its latest forward call. */
  readonly inputBytes: number;
  /** Bytes of the tensors returned by its latest forward call. */
  readonly outputBytes: number;
  /** Bytes of the parameter gradients that its backward pass created. */
  readonly gradientBytes: number;
  /** Highest memory in use while the module was active in its latest pass, by device. */
  readonly localPeakBytes: Readonly<Record<string, number>>;
  /** Memory by device in each state, with a snapshot per call. States are in the order in which they were reached. */
  readonly snapshots: ReadonlyMap<State, readonly (readonly MemorySnapshot[])[]>;
}

/** A {@link ModuleMemory} while it is being collected. @internal */
export class ModuleRecord<State extends string> {
  readonly fqn: string;
  readonly kind: string;
  parameterBytes = 0;
  bufferBytes = 0;
  inputBytes = 0;
  outputBytes = 0;
  gradientBytes = 0;
  /** Indexed by device, with a hole for devices that have not been seen. */
  localPeak: number[] = [];
  readonly snapshots: Map<State, DeviceRows[]> = new Map();
  peakForward: DeviceRows | undefined;
  peakBackward: DeviceRows | undefined;

  constructor(fqn: string, kind: string) {
    this.fqn = fqn;
    this.kind = kind;
  }

  add(state: State, rows: DeviceRows): void {
    const known = this.snapshots.get(state);
    if (known === undefined) this.snapshots.set(state, [rows]);
    else known.push(rows);
  }

  /** Begins a pass. The peak of the pass is the current memory until more is in use. */
  startPass(state: State, backward: boolean, rows: DeviceRows): void {
    const peak = rows.clone();
    this.localPeak = [];
    for (const device of rows.devices) this.localPeak[device] = rows.totalBytes(device);
    if (backward) this.peakBackward = peak;
    else this.peakForward = peak;
    this.add(state, peak);
  }

  /**
   * Updates the peak. Called for each op that runs while the module is active. The memory of `device` begins at
   * `rows[start]`.
   */
  raisePeak(backward: boolean, device: number, rows: Float64Array, start: number): void {
    const peak = backward ? this.peakBackward : this.peakForward;
    if (peak === undefined || rows[start + totalColumn] <= (this.localPeak[device] ?? 0)) return;
    this.localPeak[device] = rows[start + totalColumn];
    peak.set(device, rows, start);
  }

  memory(devices: readonly string[], shown: readonly CategoryName[]): ModuleMemory<State> {
    const localPeakBytes: Record<string, number> = {};
    this.localPeak.forEach((bytes, device) => {
      localPeakBytes[devices[device]] = bytes;
    });
    return {
      fqn: this.fqn,
      kind: this.kind,
      parameterBytes: this.parameterBytes,
      bufferBytes: this.bufferBytes,
      inputBytes: this.inputBytes,
      outputBytes: this.outputBytes,
      gradientBytes: this.gradientBytes,
      localPeakBytes,
      snapshots: new Map(
        [...this.snapshots].map(([state, list]) => [state, list.map((rows) => rows.snapshot(devices, shown))]),
      ),
    };
  }
}
