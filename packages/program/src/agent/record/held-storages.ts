import type { DispatchMode, Storage } from "@remat/dispatch-hook";

/** A dispatch mode that knows what the program holds: also what no op of a step reads, such as the data that its batches are cut from. */
export class HeldStorages implements DispatchMode, Iterable<Storage> {
  readonly seesOutside = true;
  private readonly held = new Set<Storage>();

  storageAllocated(storage: Storage): void {
    this.held.add(storage);
  }

  storageReleased(storage: Storage): void {
    this.held.delete(storage);
  }

  [Symbol.iterator](): Iterator<Storage> {
    return this.held.values();
  }
}
