import { type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseNetwork, type StreamWork, scheduleStreams } from "../src/index.js";

/** 1 GB/s is 1e6 bytes a millisecond; a ring of two ranks sends half a buffer once. */
const speeds = {
  network: { perNode: 2, nodeGBps: 1, betweenGBps: 0.5, latencyUs: 1000 },
  memoryGBps: 2,
  linkGBps: 0.25,
};

/** Ops that take so long, one after the other. */
function opsOf(...milliseconds: readonly number[]): Trace {
  const builder = new TraceBuilder({ framework: "pytorch", device: "cuda", mode: "fake", allocationUnitBytes: 1 });
  for (const runtimeMs of milliseconds) builder.op({ name: "aten.mm.default", runtimeMs });
  return builder.build();
}

function schedule(work: readonly StreamWork[], trace: Trace, { groups = 1 } = {}) {
  return scheduleStreams({ groups: Array.from({ length: groups }) as never, work }, trace, speeds);
}

const gather = (op: number, group = 0, ranks = 2): StreamWork => ({
  kind: "gather",
  op,
  group,
  bytes: 2e6,
  ranks,
  hostBytes: 0,
});
const use = (op: number, group = 0): StreamWork => ({ kind: "use", op, group, bytes: 2e6 });
const reduce = (op: number, group = 0, replicas = 1): StreamWork => ({
  kind: "reduce",
  op,
  group,
  bytes: 2e6,
  ranks: 2,
  replicas,
  hostBytes: 0,
});

describe("computed by hand", () => {
  it("waits for what it is about to use: a latency, half a buffer, and a copy that reads and writes it", () => {
    const found = schedule([{ kind: "begin", op: 0 }, gather(0), use(0)], opsOf(5));
    expect(found).toMatchObject({ totalMs: 2 + 2 + 5, computeMs: 5, copyMs: 2, exposedMs: 2 });
    expect(found.lanes[0].spans).toEqual([
      { startMs: 0, endMs: 2, group: 0, waits: true },
      { startMs: 2, endMs: 4, group: 0, waits: false },
      { startMs: 4, endMs: 9, group: undefined, waits: false },
    ]);
  });

  it("gathers the next group while one computes, from when the one was copied out", () => {
    // Waits 2, copies 2, then 5 of compute hide the second gather.
    const work = [gather(0, 0), use(0, 0), gather(1, 1), use(1, 1)];
    const found = schedule(work, opsOf(5, 3), { groups: 2 });
    expect(found).toMatchObject({ totalMs: 2 + 2 + 5 + 2 + 3, exposedMs: 2 });
    expect(found.lanes[1].spans).toEqual([
      { startMs: 0, endMs: 2, group: 0, waits: false },
      { startMs: 4, endMs: 6, group: 1, waits: false },
    ]);
    expect(schedule(work, opsOf(1, 3), { groups: 2 }).groups.map(({ exposedMs }) => exposedMs)).toEqual([2, 1]);
  });

  it("waits for the reduction before whose buffer comes free, and for all at the end", () => {
    const work: readonly StreamWork[] = [
      reduce(1),
      { kind: "awaitReduction", op: 2 },
      reduce(2, 1),
      { kind: "join", op: 2 },
    ];
    // Copied by 7, reduced by 9; the op after is over at 8, so 1 is waited for; copied by 11, reduced by 13.
    const found = schedule(work, opsOf(5, 1), { groups: 2 });
    expect(found).toMatchObject({ totalMs: 13, copyMs: 4, exposedMs: 3 });
    expect(found.groups.map(({ exposedMs }) => exposedMs)).toEqual([1, 2]);
  });

  it("takes the slower link for ranks of several nodes: four in a ring, and replicas two nodes apart", () => {
    const [over] = schedule([gather(0, 0, 4), use(0)], opsOf(1)).groups;
    // Three times a latency and a quarter of 2e6 bytes, at half a GB/s.
    expect(over.gatherMs).toBe(3 * (1 + 1));
    const [twice] = schedule([reduce(0, 0, 2), { kind: "join", op: 0 }], opsOf()).groups;
    // Reduced within a node (2), then what is left, 1e6 bytes, twice over between nodes, half of it each time.
    expect(twice.reduceMs).toBe(2 + 2 * (1 + 1));
  });

  it("brings shards from the host before they are gathered, and takes gradients there", () => {
    const work: readonly StreamWork[] = [
      { kind: "gather", op: 0, group: 0, bytes: 2e6, ranks: 2, hostBytes: 1e6 },
      use(0),
      { kind: "reduce", op: 0, group: 0, bytes: 2e6, ranks: 2, replicas: 1, hostBytes: 1e6 },
      { kind: "join", op: 0 },
    ];
    expect(schedule(work, opsOf()).groups).toEqual([{ gatherMs: 4 + 2, reduceMs: 2 + 4, exposedMs: 6 + 6 }]);
  });
});

it("takes as long as it computes, copies and waits; no stream does two things at a time; nothing is used before it is there", () => {
  const works = fc.array(
    fc.record({
      kind: fc.constantFrom("gather", "use", "reduce", "awaitReduction", "join", "begin"),
      group: fc.nat(3),
      bytes: fc.integer({ min: 0, max: 1e7 }),
      replicas: fc.constantFrom(1, 2),
      hostBytes: fc.constantFrom(0, 1e6),
      ms: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(works, (drawn) => {
      const trace = opsOf(...drawn.map(({ ms }) => ms));
      const work = drawn.map((each, op) => ({ ...each, op, ranks: 2 }) as StreamWork);
      const found = schedule(work, trace, { groups: 4 });
      expect(found.totalMs).toBeCloseTo(found.computeMs + found.copyMs + found.exposedMs, 6);
      for (const { spans } of found.lanes)
        spans.forEach(({ startMs, endMs }, i) => {
          expect(endMs).toBeGreaterThan(startMs);
          if (i > 0) expect(startMs).toBeGreaterThanOrEqual(spans[i - 1].endMs - 1e-9);
        });
      const busy = (lane: number): number =>
        found.lanes[lane].spans.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
      const sum = (of: "gatherMs" | "reduceMs"): number => found.groups.reduce((all, group) => all + group[of], 0);
      expect(busy(1)).toBeCloseTo(sum("gatherMs"), 6);
      expect(busy(2) + busy(3)).toBeCloseTo(sum("reduceMs"), 6);
    }),
  );
});

describe("parseNetwork", () => {
  it("takes what is given, and the rest of the device", () => {
    const all = { perNode: 8, nodeGBps: 450, betweenGBps: 50, latencyUs: 5 };
    expect(parseNetwork("per-node=8, node=450, between=50, latency=5")).toEqual(all);
    expect(parseNetwork("between=12.5", all)).toEqual({ ...all, betweenGBps: 12.5 });
  });

  it.each([
    ["node=fast", 'unknown network setting "node=fast"'],
    ["nodes=8", 'unknown network setting "nodes=8"'],
    ["per-node=1.5", 'unknown network setting "per-node=1.5"'],
    ["latency=0", 'unknown network setting "latency=0"'],
    ["node=450", "per-node, between, latency is missing"],
  ])("refuses %s", (text, message) => {
    expect(() => parseNetwork(text)).toThrow(
      expect.objectContaining({ code: "SHARDING_PLAN", message: expect.stringContaining(message) }),
    );
  });
});
