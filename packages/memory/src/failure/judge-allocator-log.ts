import type { AllocatorKind, AllocatorLog, AllocatorVerdict } from "./allocator-log.js";

/** No machine has this much memory, so a larger request is an error in the program. */
const mostBytes = 2 ** 50;

/** A limit that PyTorch prints with two decimals is reached if this share of it is in use. */
const almost = 0.99;

const mib = 2 ** 20;

/**
 * Returns the reason why an allocator could not serve a request. It follows from the numbers of the text alone: for
 * example, memory is fragmented only if the pool and the device had enough, but the device alone had not.
 *
 * @example
 * judgeAllocatorLog(readAllocatorLog("CUDA out of memory. Tried to allocate 2.00 GiB …")); // "full"
 */
export function judgeAllocatorLog(log: AllocatorLog): AllocatorVerdict {
  const { statedVerdict, memory, askedBytes } = log;
  if (askedBytes !== undefined && (askedBytes >= mostBytes || isMoreThanDevice(log))) return "absurd";
  if (statedVerdict !== undefined) return statedVerdict;
  // TensorFlow's allocator for the host reports its pool.
  if (memory === "host" && log.pooledBytes === undefined) return "host";
  if (memory === "shared" || memory === "block") return "shared-memory";
  return isLimited(log) ? "limited" : judgePool(log);
}

/** The limit of TensorFlow's allocator is a part of the device. A compiled program is more than one request. */
function isMoreThanDevice({ kind, memory, askedBytes = 0, limitBytes, statedVerdict }: AllocatorLog): boolean {
  return (
    memory === "device" &&
    kind !== "bfc" &&
    statedVerdict === undefined &&
    limitBytes !== undefined &&
    askedBytes > limitBytes
  );
}

function isLimited({ kind, allowedBytes, askedBytes = 0, availableBytes, ...log }: AllocatorLog): boolean {
  if (allowedBytes === undefined) return false;
  if (kind === "mps" || (availableBytes !== undefined && availableBytes >= askedBytes)) return true;
  const { inUseBytes = 0, pooledBytes = 0 } = log;
  return inUseBytes + pooledBytes + askedBytes >= almost * allowedBytes;
}

function judgePool(log: AllocatorLog): AllocatorVerdict {
  const { kind, askedBytes, availableBytes = 0, largestFreeBytes, othersBytes = 0 } = log;
  if (askedBytes === undefined) return "unknown";
  if (availableBytes >= segmentBytes(kind, askedBytes)) return judgeRefusal(log);
  // cudaMallocAsync leaves its pool to the driver, which maps pieces to one range of addresses.
  const pooledBytes = log.pooledBytes ?? (kind === "cuda-async" ? 0 : undefined);
  const { inUseBytes = 0, limitBytes = Infinity, pooledErrorBytes = 0 } = log;
  if (pooledBytes === undefined) return kind === "bfc" && limitBytes - inUseBytes < askedBytes ? "full" : "unknown";
  const free = pooledBytes + availableBytes;
  if (free >= askedBytes) {
    // A block of the pool that is large enough would have been used.
    if (largestFreeBytes !== undefined && largestFreeBytes >= askedBytes) return "unknown";
    // The driver keeps a part of the pool in the memory of the host.
    if (kind === "cuda" && inUseBytes + pooledBytes > limitBytes + limitBytes / 128) return "driver";
    const isCertain = free - pooledErrorBytes >= askedBytes && !isTooSmall(availableBytes, pooledBytes, askedBytes);
    if (isCertain) return "fragmented";
  }
  // The text may not say what the device has left.
  if (log.availableBytes === undefined && log.limitBytes !== undefined && limitBytes - inUseBytes >= askedBytes)
    return "unknown";
  return othersBytes >= Math.max(1, askedBytes - free) ? "other-process" : "full";
}

/**
 * Judges a request that the device refused although it had enough. The free memory is that of the moment after the
 * failure: if other processes use more than it, one of them may have freed it since.
 */
function judgeRefusal({ ownBytes, othersBytes = 0, availableBytes = 0 }: AllocatorLog): AllocatorVerdict {
  return ownBytes !== undefined && othersBytes > availableBytes ? "other-process" : "driver";
}

/** A driver gives out whole segments. One that has enough for the request may not have enough for its segment. */
function isTooSmall(availableBytes: number, pooledBytes: number, askedBytes: number): boolean {
  return availableBytes >= askedBytes && pooledBytes < askedBytes;
}

/**
 * Returns the memory that an allocator requests from the device to serve a request. PyTorch's caching allocators request
 * at least 2 MiB for small tensors and 20 MiB for others, and multiples of 2 MiB.
 */
function segmentBytes(kind: AllocatorKind, bytes: number): number {
  if (!["cuda", "hip", "xpu", "npu"].includes(kind)) return bytes;
  if (bytes <= mib) return 2 * mib;
  return bytes < 10 * mib ? 20 * mib : Math.ceil(bytes / (2 * mib)) * 2 * mib;
}
