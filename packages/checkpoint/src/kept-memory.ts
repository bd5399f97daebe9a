import { currentBackend } from "@remat/dispatch-hook";
import { backend } from "@tensorflow/tfjs-core";

/**
 * What the backend keeps of what is freed, where it keeps something: textures and buffers of browsers, for the next of the same size.
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

  /** Undefined on a backend that keeps nothing. In fake mode it is the backend without its device that does. */
  static here(): KeptMemory | undefined {
    const { freedMemory } = currentBackend();
    return freedMemory && new KeptMemory(freedMemory, backend());
  }

  /** Frees what waits for kernels that are queued. */
  settle(): void {
    this.freed.settle(this.instance);
  }

  /** Gives back what is kept, until all that is allocated is within `bytes`, or nothing more is kept. */
  trimTo(bytes: number): void {
    const { freed, instance } = this;
    const excess = freed.allocatedBytes(instance) - bytes;
    if (excess <= 0) return;
    const kept = freed.keptBytes(instance);
    if (kept > 0) freed.trim(instance, Math.max(0, kept - excess));
  }
}
