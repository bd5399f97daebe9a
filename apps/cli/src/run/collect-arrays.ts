import type { DispatchObserver, Storage, StorageOrigin } from "@remat/dispatch-hook";

/**
 * Arrays that come to more than this are collected. V8 lets some times as much of them lie; to collect them takes some 50 ms, which is a tenth of what it takes to draw so many numbers.
 */
const collectedBytes = 64 << 20;

/**
 * Has V8 collect the arrays that tensors were made from, such as the masks of a dropout: TensorFlow has copied them when the first op has read them, and they stay resident until V8
 * looks for garbage, which in a step that makes no more of them may be after its peak. Without `--expose-gc` it does nothing.
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
