import { copyToDevice, copyToHost, evictData } from "@remat/dispatch-hook/residency";
import type { StoredBuffer } from "./stored-data.js";

/**
 * Moves data to host memory and back, and waits for each copy. A pass is synchronous, so no kernel runs during a copy.
 *
 * @internal
 */
export class HostCopies {
  offloadedBytes = 0;
  reloadedBytes = 0;
  /** Time for all copies in milliseconds. */
  ms = 0;

  /**
   * Moves a buffer's data to host memory. Returns false without doing anything if that is not possible. A buffer that
   * already has a copy is only evicted.
   */
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

  /** Moves an evicted buffer's data back. `keepsCopy` keeps the host copy for another use. */
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
