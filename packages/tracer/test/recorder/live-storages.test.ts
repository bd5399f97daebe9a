import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { type Storage, storagesOf, withDispatchMode } from "@remat/dispatch-hook";
import { EventKind, type Trace } from "@remat/trace";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { programs, runProgram } from "../../../dispatch-hook/test/programs.js";
import { TraceRecorder } from "../../src/index.js";

interface Heap {
  _malloc(bytes: number): number;
  _free(address: number): void;
}

/** Bytes that a trace has alive after its last event, and at its peak. */
function bytesOf({ events, storages }: Trace): { live: number; peak: number } {
  let live = 0;
  let peak = 0;
  for (let i = 0; i < events.count; i++) {
    if (events.kind[i] === EventKind.allocate) live += storages.bytes[events.subject[i]];
    if (events.kind[i] === EventKind.free) live -= storages.bytes[events.subject[i]];
    peak = Math.max(peak, live);
  }
  return { live, peak };
}

/** A mode that tracks the live storages and their highest total in bytes. */
function watch() {
  const live = new Set<Storage>();
  const released = new Set<Storage>();
  let bytes = 0;
  let peak = 0;
  return {
    live,
    peak: () => peak,
    mode: {
      storageAllocated(storage: Storage) {
        expect(live.has(storage) || released.has(storage)).toBe(false);
        live.add(storage);
        bytes += storage.bytes;
        peak = Math.max(peak, bytes);
      },
      storageReleased(storage: Storage) {
        expect(released.has(storage)).toBe(false);
        released.add(storage);
        if (live.delete(storage)) bytes -= storage.bytes;
      },
    },
  };
}

test("on wasm, allocations and frees are those of the heap itself, in their order", async () => {
  await tf.setBackend("wasm");
  const heap = (tf.backend() as unknown as { wasm: Heap }).wasm;
  // Emscripten's stubs replace themselves at their first call.
  tf.tensor1d([1]).dispose();
  const { _malloc, _free } = heap;
  fc.assert(
    fc.property(programs, (program) => {
      const { mode, live, peak } = watch();
      const sizes = new Map<number, number>();
      let heapLive = 0;
      let heapPeak = 0;
      let log: number[] = [];
      const told: number[] = [];
      runProgram(program, (step) => {
        heap._malloc = (bytes) => {
          const address = _malloc(bytes) >>> 0;
          sizes.set(address, bytes);
          heapLive += bytes;
          heapPeak = Math.max(heapPeak, heapLive);
          log.push(bytes);
          return address;
        };
        heap._free = (address) => {
          // Storages from before the mode are not counted.
          const bytes = sizes.get(address);
          if (bytes !== undefined) {
            heapLive -= bytes;
            log.push(-bytes);
            sizes.delete(address);
          }
          _free(address);
        };
        try {
          const fresh = new Set<Storage>();
          withDispatchMode(
            {
              storageAllocated(storage) {
                fresh.add(storage);
                told.push(storage.bytes);
                mode.storageAllocated(storage);
              },
              storageReleased(storage) {
                if (fresh.has(storage)) told.push(-storage.bytes);
                mode.storageReleased(storage);
              },
            },
            step,
          );
        } finally {
          heap._malloc = _malloc;
          heap._free = _free;
        }
      });
      // Zero bytes come to nothing on either side, and -0 is not 0.
      log = log.filter((bytes) => bytes !== 0);
      expect(told.filter((bytes) => bytes !== 0)).toEqual(log);
      expect([...live].reduce((sum, { bytes }) => sum + bytes, 0)).toBe(heapLive);
      expect(peak()).toBe(heapPeak);
    }),
    { numRuns: 30 },
  );
});

describe("on cpu", () => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
  });

  test("the storages of live tensors are their ArrayBuffers", () => {
    const { data } = tf.backend() as unknown as { data: tf.DataStorage<{ values: { buffer: ArrayBuffer } }> };
    fc.assert(
      fc.property(programs, (program) => {
        const { mode } = watch();
        const buffers = new Map<ArrayBuffer, Storage>();
        runProgram(program, (step) =>
          withDispatchMode(
            {
              ...mode,
              opDone: (op) => {
                for (const tensor of [...op.inputTensors, ...op.outputs]) {
                  const { buffer } = data.get(tensor.dataId).values;
                  const [storage] = storagesOf(tensor);
                  // One storage to a buffer, for as long as the buffer lives.
                  const known = buffers.get(buffer);
                  if (known !== undefined) expect(known.id).toBe(storage.id);
                  buffers.set(buffer, storage);
                  expect(storage.bytes).toBe(buffer.byteLength);
                }
              },
            },
            step,
          ),
        );
        expect(new Set([...buffers.values()]).size).toBe(buffers.size);
      }),
      { numRuns: 30 },
    );
  });

  test("the live storages of a trace are those that modes were told of", () => {
    fc.assert(
      fc.property(programs, (program) => {
        const { mode, live, peak } = watch();
        const recorder = new TraceRecorder();
        runProgram(program, (step) => withDispatchMode(mode, () => withDispatchMode(recorder, step)));
        const trace = recorder.trace();
        let before = 0;
        for (const storage of live) before += storage.bytes;
        const recorded = bytesOf(trace);
        // The recorder also has what was there before: the weight and x, 48 bytes each, of which a step may replace the weight.
        expect(recorded.live - before).toBeGreaterThanOrEqual(48);
        expect(recorded.live - before).toBeLessThanOrEqual(96);
        expect(recorded.peak).toBeGreaterThanOrEqual(peak());
      }),
      { numRuns: 20 },
    );
  });
});
