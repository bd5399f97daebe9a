import { memoryTimeline, momentAt, roundUpBytes } from "@remat/memory";
import { checkedShare } from "@remat/testkit/checked-share";
import { type CategoryName, categoryNames, EventKind, type MemorySnapshot, type Trace } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemTracker, trackLive } from "../../src/tracker/index.js";
import { actions, devices, traceOf } from "./random-trace.js";

type Totals = Map<string, Map<string, number>>;

/** Memory after `end` events, by definition: every live storage, with its last size and category. */
function held(trace: Trace, end: number): Totals {
  const storages = new Map<number, { bytes: number; category: string }>();
  const { kind, subject, value } = trace.events;
  for (let i = 0; i < end; i++) {
    const s = subject[i];
    if (kind[i] === EventKind.allocate)
      storages.set(s, { bytes: trace.storages.bytes[s], category: categoryNames[trace.storages.category[s]] });
    else if (kind[i] === EventKind.free) storages.delete(s);
    else if (kind[i] === EventKind.resize) (storages.get(s) as { bytes: number }).bytes = value[i];
    else if (kind[i] === EventKind.categorize)
      (storages.get(s) as { category: string }).category = categoryNames[value[i]];
  }
  const totals: Totals = new Map();
  for (const [s, { bytes, category }] of storages) {
    const device = trace.strings[trace.storages.device[s]];
    const allocated = roundUpBytes(bytes, device.startsWith("cuda") ? 512 : 1);
    const row = totals.get(device) ?? new Map<string, number>();
    totals.set(device, row);
    for (const key of [category, "total"]) row.set(key, (row.get(key) ?? 0) + allocated);
  }
  return totals;
}

function bytesOf(totals: Totals, device: string, key: string): number {
  return totals.get(device)?.get(key) ?? 0;
}

function found(snapshot: readonly MemorySnapshot[], device: string): MemorySnapshot | undefined {
  return snapshot.find((s) => s.device === device);
}

describe("on random traces", () => {
  it("holds what is alive, at every event, and its totals are the sums over the categories", () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const trace = traceOf(steps);
        const tracker = new MemTracker();
        for (let end = 0; end <= trace.events.count; end++) {
          const expected = held(trace, end);
          const snapshot = tracker.update(trace, end).snapshot();
          for (const device of devices) {
            const ours = found(snapshot, device);
            expect(ours?.totalBytes ?? 0).toBe(bytesOf(expected, device, "total"));
            for (const name of categoryNames)
              expect(ours?.bytesByCategory[name] ?? 0).toBe(bytesOf(expected, device, name));
          }
          for (const { totalBytes, bytesByCategory } of snapshot)
            expect(totalBytes).toBe(Object.values(bytesByCategory).reduce((a, b) => a + b, 0));
        }
      }),
    );
  });

  it("peaks at the most that was ever held, and the peak is a sum of categories", () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const trace = traceOf(steps);
        const peak = new MemTracker().update(trace).snapshot("peak");
        for (const device of devices) {
          let most = 0;
          for (let end = 0; end <= trace.events.count; end++)
            most = Math.max(most, bytesOf(held(trace, end), device, "total"));
          expect(found(peak, device)?.totalBytes ?? 0).toBe(most);
        }
        for (const { totalBytes, bytesByCategory } of peak)
          expect(totalBytes).toBe(Object.values(bytesByCategory).reduce((a, b) => a + b, 0));
      }),
    );
  });

  it("gives the same live as from the finished trace, whenever it is asked", () => {
    const given = checkedShare();
    fc.assert(
      fc.property(actions, fc.nat(7), (steps, every) => {
        let live: MemTracker | undefined;
        let step = 0;
        const trace = traceOf(steps, (builder) => {
          live ??= trackLive({ trace: () => builder.build() });
          if (step++ % (every + 1) > 0) return;
          const sofar = new MemTracker({ secondIteration: "reset" }).update(builder.build());
          expect(live.snapshot("peak")).toEqual(sofar.snapshot("peak"));
          expect([live.modules(), live.peakBytes()]).toEqual([sofar.modules(), sofar.peakBytes()]);
        });
        if (!given(live)) return;
        const whole = new MemTracker({ secondIteration: "reset" }).update(trace);
        expect(live.modules()).toEqual(whole.modules());
        expect([live.snapshot(), live.snapshot("peak")]).toEqual([whole.snapshot(), whole.snapshot("peak")]);
        expect(live.displayModulewiseSnapshots(9, "KiB", true)).toBe(whole.displayModulewiseSnapshots(9, "KiB", true));
      }),
    );
  });

  it("has a timeline that agrees with the totals at every event, and the same peak", () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const trace = traceOf(steps);
        for (const device of devices) {
          const timeline = memoryTimeline(trace, { at: "event", device });
          const perOp = memoryTimeline(trace, { device });
          for (let i = 0; i < timeline.count; i++) {
            const expected = held(trace, i + 1);
            expect(timeline.totalBytes[i]).toBe(bytesOf(expected, device, "total"));
            for (const name of categoryNames)
              expect(timeline.bytesByCategory.get(name as CategoryName)?.[i] ?? 0).toBe(
                bytesOf(expected, device, name),
              );
          }
          for (let i = 0; i < perOp.count; i++) {
            expect(perOp.op[i]).toBe(i);
            expect(perOp.totalBytes[i]).toBe(timeline.totalBytes[perOp.event[i]]);
          }
          const peak = found(new MemTracker().update(trace).snapshot("peak"), device)?.totalBytes ?? 0;
          expect(Math.max(0, ...timeline.highestBytes)).toBe(peak);
        }
      }),
    );
  });

  it("lists at a moment exactly what is alive, largest first", () => {
    const given = checkedShare();
    fc.assert(
      fc.property(actions, fc.nat(), (steps, n) => {
        const trace = traceOf(steps);
        if (!given(trace.ops.count > 0)) return;
        const op = n % trace.ops.count;
        for (const device of devices) {
          const moment = momentAt(trace, { op }, { device, limit: Number.POSITIVE_INFINITY });
          const expected = held(trace, moment.event + 1);
          const sizes = moment.largest.map(({ bytes }) => bytes);
          expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
          expect(sizes.reduce((a, b) => a + b, 0)).toBe(bytesOf(expected, device, "total"));
          expect(moment.totalBytes).toBe(bytesOf(expected, device, "total"));
          expect(moment.storageCount).toBe(sizes.length);
        }
      }),
    );
  });

  it("sees the peak again at the moment of the peak", () => {
    const given = checkedShare();
    fc.assert(
      fc.property(actions, (steps) => {
        // An op looks at memory; a peak that is reached after the last is of no moment.
        const trace = traceOf([...steps, ["op", 0, 0]]);
        const tracker = new MemTracker().update(trace);
        for (const { device, totalBytes, bytesByCategory } of tracker.snapshot("peak")) {
          if (!given(totalBytes > 0)) continue;
          const moment = tracker.peakMoment({ device });
          expect(moment.totalBytes).toBe(totalBytes);
          for (const [name, bytes] of Object.entries(bytesByCategory))
            expect(moment.bytesByCategory[name as CategoryName] ?? 0).toBe(bytes);
        }
      }),
    );
  });
});
