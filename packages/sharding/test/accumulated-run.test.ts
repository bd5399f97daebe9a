import { heldPeak, readMemoryEvents } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { goldensOf } from "@remat/testkit";
import { Phase, type Trace } from "@remat/trace";
import { expect, it } from "vitest";
import { accumulatedRun } from "../src/accumulated-run.js";
import { parseShardingPlan, simulateFsdp } from "../src/index.js";

const read = (name: string): Trace =>
  readPyTorchTrace(goldensOf("mem-oracle/1").find(({ file }) => file.name === name)!.golden);
const plain = read("mem_mlp4_adam");
const accumulated = read("mem_mlp4_accumulate_2_adam");

it("holds what a run holds that was recorded so", () => {
  expect(heldPeak(accumulatedRun(plain, 2)).peakBytes).toBe(heldPeak(accumulated).peakBytes);
});

/** Ops that compute nothing, of which a run has some more or less around what is added. */
const looks = /^(prim\.|profiler\.|aten\.detach\.)/;

/** Memory after each op that computes, by name. */
function held(trace: Trace): (readonly [name: string, bytes: number])[] {
  let bytes = 0;
  const size = new Map<number, number>();
  const told: [string, number][] = [];
  readMemoryEvents(trace, {
    allocate: (storage) => {
      size.set(storage, trace.storages.bytes[storage]);
      bytes += trace.storages.bytes[storage];
    },
    free: (storage) => {
      bytes -= size.get(storage) ?? 0;
    },
    op: (op) => {
      const name = trace.opName(op);
      if (trace.ops.phase[op] !== Phase.optimizer && !looks.test(name)) told.push([name, bytes]);
    },
  });
  return told;
}

it("holds the same after each op of all passes", () => {
  const found = held(accumulatedRun(plain, 2));
  const recorded = held(accumulated);
  expect(found.map(([name]) => name)).toEqual(recorded.map(([name]) => name));
  // The loss of a pass, a scalar, goes a little later there.
  found.forEach(([, bytes], i) => {
    expect(Math.abs(bytes - recorded[i][1])).toBeLessThanOrEqual(8);
  });
});

it.each([
  "world=4",
  "world=4,sync-last",
  "world=8,replicas=2,bf16",
  "world=8,bf16,sync-last,wrap=0+1",
  "world=4,offload",
  "world=4,no-reshard,reduce=float32",
  "world=4,wrap=0(bf16),wrap=1,wrap=2,wrap=3",
  "world=4,wrap=0(bf16,output=float32),wrap=1,wrap=2(param=bfloat16),wrap=3,sync-last",
])("under %s it holds and receives what a run does that was recorded so", (text) => {
  const found = simulateFsdp(plain, parseShardingPlan(`${text},micro-batches=2`));
  const recorded = simulateFsdp(accumulated, parseShardingPlan(text));
  expect(Math.abs(heldPeak(found.trace).peakBytes - heldPeak(recorded.trace).peakBytes)).toBeLessThanOrEqual(512);
  expect(found.communication).toEqual(recorded.communication);
});

it("refuses a run that takes several passes already, and a number that is none", () => {
  for (const [trace, text, message] of [
    [accumulated, "world=4,micro-batches=2", "already has several backward passes per step"],
    [plain, "world=4,micro-batches=0", "expected at least 1 micro-batch, found 0"],
    [plain, "world=4,micro-batches=1000000000", "1000000000 micro-batches of"],
  ] as const)
    expect(() => simulateFsdp(trace, parseShardingPlan(text))).toThrow(
      expect.objectContaining({ code: "SHARDING_PLAN", message: expect.stringContaining(message) }),
    );
});
