import type { DispatchObserver, Storage } from "@remat/dispatch-hook";
import { GrowthAccumulator } from "@remat/memory/growth";

/** A dispatch mode that knows what the program holds: also what no op of a step reads, such as the data that its batches are cut from. */
export class HeldStorages implements DispatchObserver, Iterable<Storage> {
  readonly seesOutside = true;
  /** Of all of it, as requested. */
  bytes = 0;
  private readonly held = new Set<Storage>();
  private readonly growth = new GrowthAccumulator();

  storageAllocated(storage: Storage): void {
    this.held.add(storage);
    this.bytes += storage.bytes;
    this.growth.allocated(0, storage.bytes);
  }

  storageReleased(storage: Storage): void {
    if (!this.held.delete(storage)) return;
    this.bytes -= storage.bytes;
    this.growth.freed(0, storage.bytes);
  }

  /** A step is about to begin, and the one before it is over. */
  stepStarting(): void {
    this.growth.endPeriod("step");
  }

  /** By how much what is held as steps begin has grown with each; 0: not at all, undefined: they are too few to say. */
  get bytesPerStep(): number | undefined {
    const { verdict, bytesPerPeriod } = this.growth.growthOf(0);
    return verdict === "too short" ? undefined : bytesPerPeriod;
  }

  [Symbol.iterator](): Iterator<Storage> {
    return this.held.values();
  }
}
