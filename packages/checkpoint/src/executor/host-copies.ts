import { copyToDevice, copyToHost, evictData } from "@remat/dispatch-hook/residency";
import type { StoredBuffer } from "./stored-data.js";

/**
 * Moves data to host memory and back, waiting for it: a pass is synchronous, so that no kernel runs meanwhile.
 *
 * @internal
 */
export class HostCopies {
  offloadedBytes = 0;
  reloadedBytes = 0;
  /** Milliseconds that all this took. */
  ms = 0;

  /** Moves a buffer's data to host memory; false, and nothing done, where it cannot be. What is there already is evicted alone. */
  offload(buffer: StoredBuffer): boolean {
    if (!buffer.isOffloadable) return false;
    const startedAt = performance.now();
    buffer.hostCopy = copyToHost(buffer.data[0].dataId);
    if (buffer.hostCopy === undefined) return false;
    this.offloadedBytes += buffer.bytes;
    for (const data of buffer.data) data.isStale = data.maker?.isView === true;
    evictData(buffer.data.map(({ dataId }) => dataId));
    this.ms += performance.now() - startedAt;
    return true;
  }

  /** Moves an evicted buffer's data back, which host memory has; `keepsCopy`: for another time, too. */
  reload(buffer: StoredBuffer, keepsCopy: boolean): void {
    const { hostCopy, data } = buffer;
    if (hostCopy === undefined || data.length === 0 || !buffer.isEvicted) return;
    const startedAt = performance.now();
    copyToDevice(data[0].dataId, hostCopy);
    this.reloadedBytes += buffer.bytes;
    if (!keepsCopy) buffer.hostCopy = undefined;
    this.ms += performance.now() - startedAt;
  }
}
