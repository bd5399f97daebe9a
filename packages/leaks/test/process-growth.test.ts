import { describe, expect, it } from "vitest";
import { describeLeaks, type LeakMaker, type LeakReport } from "../src/index.js";
import { judgeProcess, type ProcessSample, pooledBytesOf } from "../src/process-growth.js";

const MiB = 2 ** 20;

/** A process that is looked at after 4, 8, 16, … periods, and holds what these say of the number of periods, in MiB. */
const samples = (
  heap: (periods: number) => number,
  {
    arrays = () => 0,
    tensors = () => 0,
    rest = () => 0,
    pool = () => 0,
  }: Partial<Record<string, (periods: number) => number>> = {},
): readonly ProcessSample[] =>
  [4, 8, 16, 32, 64].map((periods) => ({
    periods,
    heapBytes: MiB * (30 + heap(periods)),
    arrayBytes: MiB * (arrays(periods) + tensors(periods)),
    tensorBytes: MiB * tensors(periods),
    pooledBytes: MiB * pool(periods),
    residentBytes: MiB * (100 + heap(periods) + arrays(periods) + tensors(periods) + rest(periods)),
  }));

const steady = () => 0;
const grows = (periods: number) => periods / 2;

describe("judgeProcess", () => {
  it.each<[string, readonly ProcessSample[], readonly string[]]>([
    ["nothing", samples(steady), []],
    ["the heap", samples(grows), ["heap"]],
    ["arrays that are no tensor's", samples(steady, { arrays: grows }), ["arrays"]],
    ["what the allocator keeps", samples(steady, { rest: grows }), ["allocator"]],
    ["what the backend keeps of freed textures", samples(steady, { pool: grows }), ["pool"]],
    ["heap and allocator", samples(grows, { rest: grows }), ["heap", "allocator"]],
    ["tensors alone, which have lines of their own", samples(steady, { tensors: grows }), []],
    ["what code that is compiled takes of the heap", samples((periods) => periods / 20), []],
    ["what grew once", samples((periods) => (periods > 8 ? 20 : 0)), []],
    ["what comes to an end", samples((periods) => Math.min(periods, 20)), []],
    ["pages that an allocator begins", samples(steady, { rest: (periods) => periods / 5 }), []],
    ["a few bytes", samples((periods) => periods / 2048), []],
  ])("names %s", (_name, given, what) => {
    const found = judgeProcess(given);
    expect(found.map((each) => each.what)).toEqual(what);
    for (const { bytesPerPeriod } of found) expect(bytesPerPeriod).toBeCloseTo(MiB / 2);
  });

  it("takes what is in a pool from what webgl and webgpu say of themselves", () => {
    expect(pooledBytesOf({ numBytesInGPU: 12, numBytesInGPUFree: 8 })).toBe(8);
    expect(pooledBytesOf({ numBytesInGPU: 12, numBytesAllocatedInGPU: 32 })).toBe(20);
    expect(pooledBytesOf({})).toBe(0);
  });

  it("says nothing of three looks, nor of the allocator of a process in which other threads run", () => {
    expect(judgeProcess(samples(grows).slice(0, 3))).toEqual([]);
    const inWorker = samples(steady, { rest: grows }).map((sample) => ({ ...sample, residentBytes: undefined }));
    expect(judgeProcess(inWorker)).toEqual([]);
  });
});

describe("describeLeaks", () => {
  it("has a line for what grows besides tensors, by the period", () => {
    const report = {
      periods: [{ kind: "step", count: 64 }],
      count: 96,
      bytes: 4096,
      makers: [],
      process: judgeProcess(samples(grows)).map((each) => ({ ...each, period: "step" })),
      collectsLost: false,
      stacks: { taken: 0, outlived: 0 },
      elapsedMs: 1000,
    };
    expect(describeLeaks(report)).toEqual([
      "no tensor grows in number: 96 tensors and 4 KiB alive after 64 steps",
      "other memory also grows, by 512 KiB per step: the JavaScript heap (objects kept by the program: logs, lists, closures)",
    ]);
    expect(describeLeaks({ ...report, process: [] })).toEqual([
      "nothing grows: 96 tensors and 4 KiB alive after 64 steps",
    ]);
  });

  const maker: LeakMaker = {
    line: "train.js:9:18",
    op: "tensor",
    shapes: ["float32 [524288,4]"],
    modules: [],
    names: [],
    origin: "outside",
    returnedBy: undefined,
    count: 100,
    bytes: 100 * 8 * MiB,
    lost: 100,
    held: 0,
    verdict: "growing",
    period: "step",
    periods: 75,
    countPerPeriod: 1,
    bytesPerPeriod: 8 * MiB,
  };
  const leaking: LeakReport = {
    periods: [{ kind: "step", count: 100 }],
    count: 100,
    bytes: 100 * 8 * MiB,
    makers: [maker],
    process: [],
    collectsLost: false,
    stacks: { taken: 100, outlived: 100 },
    elapsedMs: 1000,
  };
  const device = { name: "this machine", memoryBytes: 2 ** 35 };

  it.each([
    ["tidy", "dispose of the tensors returned by the tidy when they are no longer needed"],
    [undefined, "dispose of the tensors returned by the tidy when they are no longer needed"],
    ["predict", "dispose of the tensors returned by predict() when they are no longer needed"],
  ])("advises for a tensor that %s returned", (returnedBy, fix) => {
    const returned: LeakMaker = { ...maker, origin: "returned", returnedBy };
    expect(describeLeaks({ ...leaking, makers: [returned] }).join("\n")).toContain(fix);
  });

  it("forecasts by the limit of the backend if that is below the device's", () => {
    expect(describeLeaks(leaking, { device })[0]).toContain(
      "; 32 GiB (this machine) will be full after 3,996 more steps",
    );
    const onWasm = { ...leaking, mostBytes: 2 ** 32 };
    expect(describeLeaks(onWasm, { device })[0]).toContain(
      "; 4 GiB (the limit of WebAssembly) will be full after 412 more",
    );
    const small = { ...device, memoryBytes: 2 ** 31 };
    expect(describeLeaks(onWasm, { device: small })[0]).toContain("; 2 GiB (this machine) will be full after 156 more");
  });

  it("forecasts nothing for a program that has failed, and does not ask for a longer run", () => {
    expect(describeLeaks(leaking, { device, exitCode: 7 })[0]).toBe(
      "memory grows by 1 tensor and 8 MiB per step, seen in 100 steps",
    );
    const short: LeakReport = { ...leaking, makers: [{ ...maker, verdict: "too short" }] };
    expect(describeLeaks(short, { exitCode: 1 })[0]).toBe(
      "growth is unknown: 100 steps seen before the program ended with exit code 1; at least four more are needed after the first. If it ran out of memory, remat record shows where",
    );
    expect(describeLeaks(short)[0]).toContain("Let it run longer");
  });
});
