import { Category, type CategoryName, categoryNames, type MemorySnapshot } from "@remat/trace";
import { type LiveStorages, rowWidth, totalColumn } from "./live-storages.js";

/**
 * A row of bytes per category for each device, in the order in which the devices appeared. Memory trackers store their
 * snapshots of modules in this form.
 */
export class DeviceRows {
  readonly devices: number[] = [];
  readonly rows: Float64Array[] = [];

  /** Returns the current state of `storages`. */
  static of(storages: LiveStorages): DeviceRows {
    const rows = new DeviceRows();
    for (const device of storages.present) rows.copy(storages, device);
    return rows;
  }

  /** Copies the current row of `device`. */
  copy(storages: LiveStorages, device: number): void {
    this.set(device, storages.totals, device * rowWidth);
  }

  /** Copies the row that begins at `from[start]`. */
  set(device: number, from: Float64Array, start: number): void {
    const at = this.devices.indexOf(device);
    if (at >= 0) {
      const row = this.rows[at];
      for (let i = 0; i < rowWidth; i++) row[i] = from[start + i];
    } else {
      this.devices.push(device);
      this.rows.push(from.slice(start, start + rowWidth));
    }
  }

  clear(): void {
    this.devices.length = 0;
    this.rows.length = 0;
  }

  totalBytes(device: number): number {
    const at = this.devices.indexOf(device);
    return at < 0 ? 0 : this.rows[at][totalColumn];
  }

  /** Returns the bytes of `device` in each category that is not empty. */
  byCategory(device: number): Partial<Record<CategoryName, number>> {
    const row = this.rows[this.devices.indexOf(device)];
    return Object.fromEntries(
      categoryNames.flatMap((name, c) => (row !== undefined && row[c] !== 0 ? [[name, row[c]]] : [])),
    );
  }

  clone(): DeviceRows {
    const rows = new DeviceRows();
    rows.devices.push(...this.devices);
    rows.rows.push(...this.rows.map((row) => row.slice()));
    return rows;
  }

  snapshot(devices: readonly string[], shown: readonly CategoryName[]): MemorySnapshot[] {
    return this.rows.map((row, i) => ({
      device: devices[this.devices[i]],
      totalBytes: row[totalColumn],
      bytesByCategory: Object.fromEntries(shown.map((name) => [name, row[Category[name]]])),
    }));
  }
}
