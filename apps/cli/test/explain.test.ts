import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Category, TraceBuilder, writeTrace } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bfcLog, cudaError, cudaSummary } from "../../../packages/memory/test/failure/allocator-logs.js";
import { outOfMemoryTexts } from "../../../packages/memory/test/failure/out-of-memory-texts.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-explain-"));
const bfc = join(folder, "bfc.log");
const cuda = join(folder, "cuda.log");
const trace = join(folder, "train.remat.jsonl");
const mib = 2 ** 20;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(() => {
  const chunks = [
    { bytes: 2 * mib, inUse: true },
    { bytes: mib, inUse: false },
    { bytes: 2 * mib, inUse: true },
    { bytes: mib, inUse: false },
  ];
  writeFileSync(
    bfc,
    bfcLog({ name: "GPU_0_bfc", regions: [chunks], limitBytes: 6 * mib, shape: [384, 1024], op: "Conv2D" }),
  );
  const pool = { allocations: 12, inUseBytes: 512 * mib, reservedBytes: 512 * mib };
  const state = { device: 1, askedBytes: 64 * mib, limitBytes: 1024 * mib, freeBytes: 0, small: pool, large: pool };
  writeFileSync(cuda, cudaError(state, true) + cudaSummary(state));
  const b = new TraceBuilder({ framework: "tfjs", device: "cuda:0", mode: "real", allocationUnitBytes: 1 });
  const tensor = (category: number): number =>
    b.tensor({ storage: b.allocate(2 * mib, "cuda:0", category), dtype: "float32", shape: [512, 1024] });
  const x = tensor(Category.input);
  b.op({ name: "Relu", inputs: [x], outputs: [tensor(Category.activation)], line: "train.js:4:5" });
  b.free(0);
  writeFileSync(trace, Buffer.concat([...writeTrace(b.build())]));
});

describe("remat explain", () => {
  it("says of a BFC log what was asked for, who held the rest, and in which pieces", async () => {
    const { code, stdout } = await remat("explain", bfc);
    expect(code).toBe(0);
    const [facts] = stdout.split("\n\n");
    expect(facts.split("\n")).toEqual([
      "GPU_0_bfc could not allocate 1.5 MiB for Conv2D (float32 [384, 1024]).",
      "Memory (limit 6 MiB): 4 MiB in use, 2 MiB free in its pool, 0 B free elsewhere; peak use was 4 MiB.",
      "The free memory of the pool is in 2 pieces, the largest 1 MiB: 50.0% fragmentation.",
      "The cause is fragmentation: enough memory is free, but not in one piece. Set TF_GPU_ALLOCATOR=cuda_malloc_async, so that the driver joins the pieces.",
    ]);
    expect(stdout).toMatch(/Size\s+\|? ?In use\s+\|? ?Free/);
  });

  it("tells with a trace beside it which storages have the sizes of its chunks", async () => {
    const { stdout } = await remat("explain", bfc, trace, "--format", "json");
    const { cause, storages, sizes } = JSON.parse(stdout) as Record<string, unknown>;
    expect(cause).toBe("fragmented");
    expect(sizes).toEqual([
      { bytes: 2 * mib, inUse: 2, free: 0 },
      { bytes: mib, inUse: 0, free: 2 },
    ]);
    expect(storages).toMatchObject([{ bytes: 2 * mib, chunks: 2, storages: 2 }]);
  });

  it("says of PyTorch's that it is full, and with a trace what to type", async () => {
    const { stdout } = await remat("explain", cuda, trace);
    const [facts] = stdout.split("\n\n");
    expect(facts.split("\n")).toEqual([
      "GPU 1 could not allocate 64 MiB.",
      "Memory (limit 1 GiB): 1 GiB in use, 0 B free in its pool, 0 B free elsewhere; peak use was 1 GiB.",
      "Memory is full: 64 MiB more is needed. Fragmentation is not the cause.",
      `To plan within the limit:  remat plan ${trace} --budget 1GiB`,
    ]);
    expect(stdout).toContain("large pool");
  });

  it("says of a log that breaks off what it has, and that more may be missing", async () => {
    const whole = readFileSync(bfc, "utf8");
    const cut = join(folder, "cut.log");
    const lines = whole.split("\n");
    const first = lines.findIndex((line) => line.includes("ran out of memory trying to allocate"));
    for (const length of [first + 1, lines.length >> 1]) {
      writeFileSync(cut, lines.slice(0, length).join("\n"));
      const { code, stdout, stderr } = await remat("explain", cut);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^GPU_0_bfc could not allocate 1\.5 MiB/);
      expect(stdout).toContain("The log is incomplete");
    }
    // In the midst of its first line there is only what it had already said.
    writeFileSync(cut, whole.slice(0, whole.indexOf("ran out of memory") + 30));
    expect((await remat("explain", cut)).stderr.split("\n")).toHaveLength(2);
  });

  it("names the line of a trace that allocates what was requested", async () => {
    const text = join(folder, "request.log");
    writeFileSync(
      text,
      "CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 4.00 GiB total capacity; 3.60 GiB already allocated; 0 bytes free; 3.60 GiB reserved in total by PyTorch)",
    );
    const { stdout } = await remat("explain", text, trace);
    expect(stdout).toContain("In the trace, Relu at train.js:4:5 allocates this size once: float32 [512, 1024].");
    const { requested } = JSON.parse((await remat("explain", text, trace, "--format", "json")).stdout) as object & {
      readonly requested: unknown;
    };
    expect(requested).toEqual([
      { op: "Relu", line: "train.js:4:5", shape: [512, 1024], dtype: "float32", bytes: 2 * mib, count: 1 },
    ]);
  });

  it("judges each rank of a log by itself", async () => {
    const { text } = outOfMemoryTexts.find(({ of }) => of === "two ranks under torchrun")!;
    const ranks = join(folder, "ranks.log");
    writeFileSync(ranks, text);
    const { code, stdout } = await remat("explain", ranks);
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/^GPU 1 \(rank 1\) .*Memory is full/),
      expect.stringMatching(/^GPU 0 \(rank 0\) .*Other processes use/),
    ]);
    const json = JSON.parse((await remat("explain", ranks, "--format", "json")).stdout) as {
      readonly reports: readonly { readonly cause: string }[];
    };
    expect(json.reports.map(({ cause }) => cause)).toEqual(["full", "other-process"]);
  });

  it("reads a log as PowerShell writes it", async () => {
    const printed = join(folder, "printed.log");
    const { text } = outOfMemoryTexts.find(({ of }) => of === "XPU, full")!;
    writeFileSync(printed, Buffer.from(`\ufeff${text}`, "utf16le"));
    const { code, stdout } = await remat("explain", printed);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^GPU 0 could not allocate 256 MiB\./);
  });

  it.each([
    [
      "another program's",
      "npm error code 1\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
    ],
    ["an empty one", ""],
    ["one that is none", Buffer.from([0, 255, 254, 1, 2, 3, 0]).toString("latin1")],
    [
      "one of before the failure",
      "I tensorflow/core/common_runtime/bfc_allocator.cc:1080] BFCAllocator dump for GPU_0_bfc\n",
    ],
  ])("refuses %s in one line, with what to do", async (_what, text) => {
    const foreign = join(folder, "foreign.log");
    writeFileSync(foreign, text);
    const { code, stdout, stderr } = await remat("explain", foreign);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^remat: .*foreign\.log: .*Save the program's whole stderr: .*\n$/);
  });

  it("refuses what is no such log, in one line", async () => {
    const { code, stderr } = await remat("explain", trace);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^remat: .*: it contains no out-of-memory report\. Save the program's whole stderr: .*\n$/);
    expect(await remat("explain", join(folder, "none.log"))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot be read/) as string,
    });
  });
});
