import { currentBackend } from "@remat/dispatch-hook";
import { backend } from "@tensorflow/tfjs-core";

/**
 * Freed memory that the backend keeps for later allocations of the same size, such as textures and buffers in browsers.
 *
 * @internal
 */
export class KeptMemory {
  private readonly freed: NonNullable<ReturnType<typeof currentBackend>["freedMemory"]>;
  private readonly instance: object;

  private constructor(freed: NonNullable<ReturnType<typeof currentBackend>["freedMemory"]>, instance: object) {
    this.freed = freed;
    this.instance = instance;
  }

  /** Returns undefined on a backend that keeps nothing. In fake mode the simulated backend counts. */
  static here(): KeptMemory | undefined {
    const { freedMemory } = currentBackend();
    return freedMemory && new KeptMemory(freedMemory, backend());
  }

  /** Frees memory that waits for queued kernels. */
  settle(): void {
    this.freed.settle(this.instance);
  }

  /** Returns kept memory to the system until all allocations fit in `bytes`, or nothing is kept. */
  trimTo(bytes: number): void {
    const { freed, instance } = this;
    const excess = freed.allocatedBytes(instance) - bytes;
    if (excess <= 0) return;
    const kept = freed.keptBytes(instance);
    if (kept > 0) freed.trim(instance, Math.max(0, kept - excess));
  }
}
