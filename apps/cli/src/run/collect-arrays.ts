import type { DispatchObserver, Storage, StorageOrigin } from "@remat/dispatch-hook";

/**
 * A collection is triggered above this total. V8 alone would let several times as much accumulate. Collecting takes
 * about 50 ms, a tenth of the time needed to draw so many random numbers.
 */
const collectedBytes = 64 << 20;

/**
 * Makes V8 collect the arrays that tensors were created from, such as dropout masks. TensorFlow copies them when the
 * first op reads them, but they stay resident until V8's next collection. If a step creates no further arrays, that
 * collection may come only after the peak. Without `--expose-gc` it does nothing.
 */
export class CollectArrays implements DispatchObserver {
  readonly looksInPassing = true;
  private givenBytes = 0;

  storageAllocated({ bytes }: Storage, origin: StorageOrigin): void {
    if (origin === "data") this.givenBytes += bytes;
  }

  opDone(): void {
    if (this.givenBytes < collectedBytes) return;
    this.givenBytes = 0;
    globalThis.gc?.();
  }
}
