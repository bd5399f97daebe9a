import * as tf from "@tensorflow/tfjs";

/** Counts the buffers of a backend by looking at the backend alone, not by way of the dispatch hook. */
export interface LiveBuffers {
  /** The most that was alive at once since the last `restart`. */
  peakBytes(): number;
  /** Forgets the peak, not what is alive. */
  restart(): void;
  stop(): void;
}

class Count {
  private live = 0;
  private peak = 0;

  add(bytes: number): void {
    this.live += bytes;
    this.peak = Math.max(this.peak, this.live);
  }

  as(stop: () => void): LiveBuffers {
    const restart = (): void => {
      this.peak = this.live;
    };
    return { peakBytes: () => this.peak, restart, stop };
  }
}

interface CpuBackend {
  readonly data: tf.DataStorage<{ values?: { buffer?: ArrayBuffer } }>;
}

/** On cpu a buffer is an `ArrayBuffer`, on which several arrays may lie. */
function countArrayBuffers({ data }: CpuBackend): LiveBuffers {
  const count = new Count();
  const users = new Map<ArrayBuffer, number>();
  const bufferOf = (dataId: object): ArrayBuffer | undefined => data.get(dataId).values?.buffer;
  const { set, delete: remove } = data;
  data.set = (dataId, entry) => {
    set.call(data, dataId, entry);
    const buffer = bufferOf(dataId);
    if (buffer === undefined) return;
    const before = users.get(buffer) ?? 0;
    users.set(buffer, before + 1);
    if (before === 0) count.add(buffer.byteLength);
  };
  data.delete = (dataId) => {
    const buffer = data.has(dataId) ? bufferOf(dataId) : undefined;
    const left = buffer === undefined ? undefined : users.get(buffer);
    // Buffers from before the count are not counted.
    if (buffer !== undefined && left !== undefined) {
      if (left > 1) users.set(buffer, left - 1);
      else {
        users.delete(buffer);
        count.add(-buffer.byteLength);
      }
    }
    return remove.call(data, dataId);
  };
  return count.as(() => Object.assign(data, { set, delete: remove }));
}

interface Heap {
  _malloc(bytes: number): number;
  _free(address: number): void;
}

/** On wasm a buffer is a piece of the heap. */
function countHeapPieces({ wasm }: { readonly wasm: Heap }): LiveBuffers {
  // Emscripten's stubs replace themselves at their first call.
  tf.tensor1d([1]).dispose();
  const count = new Count();
  const sizes = new Map<number, number>();
  const { _malloc, _free } = wasm;
  wasm._malloc = (bytes) => {
    const address = _malloc(bytes) >>> 0;
    sizes.set(address, bytes);
    count.add(bytes);
    return address;
  };
  wasm._free = (address) => {
    count.add(-(sizes.get(address) ?? 0));
    sizes.delete(address);
    _free(address);
  };
  return count.as(() => Object.assign(wasm, { _malloc, _free }));
}

/** Starts counting new buffers of the current backend. On backends other than cpu and wasm the count is undefined. */
export function countLiveBuffers(): LiveBuffers {
  const backend: unknown = tf.backend();
  if (tf.getBackend() === "cpu") return countArrayBuffers(backend as CpuBackend);
  return tf.getBackend() === "wasm"
    ? countHeapPieces(backend as { readonly wasm: Heap })
    : new Count().as(() => undefined);
}
