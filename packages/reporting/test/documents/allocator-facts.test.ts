import { judgeAllocatorLog, readAllocatorLogs } from "@remat/memory/failure";
import { describe, expect, it } from "vitest";
import { outOfMemoryTexts } from "../../../memory/test/failure/out-of-memory-texts.js";
import { type AllocatorReport, allocatorDocument, allocatorFacts } from "../../src/documents/index.js";

function reportsOf(text: string): readonly AllocatorReport[] {
  return readAllocatorLogs(text).map((log) => ({ log, verdict: judgeAllocatorLog(log) }));
}

function factsOf(text: string): readonly string[] {
  const reports = reportsOf(text);
  return allocatorFacts({ ...(reports.at(-1) as AllocatorReport), others: reports.slice(0, -1) }).facts;
}

describe("what is said of an out-of-memory text", () => {
  it.each(outOfMemoryTexts.map(({ of, text }) => [of, text]))("of %s fits its device", (_of, text) => {
    const facts = factsOf(text);
    const { kind, memory } = readAllocatorLogs(text).at(-1)!;
    const said = facts.join("\n");
    expect(facts[0]).toMatch(/could not allocate|was killed/);
    expect(said).not.toMatch(/undefined|NaN|Infinity|\?|\bGPU could\b.*\bGPU could\b|  /);
    const isNvidia = memory !== "host" && !["xpu", "npu", "mps", "tpu", "hip", "cpu"].includes(kind);
    if (!isNvidia) expect(said).not.toMatch(/cuda(?!\.set_per_process)|nvidia/i);
    if (memory === "host") expect(said).not.toMatch(/GPU|fragment/);
    // Lists of sizes are not prose.
    const sentences = said.split(/(?<=[.:])\s/).filter((sentence) => !/^Memory \(|^The compiled/.test(sentence));
    expect(Math.max(...sentences.map((sentence) => sentence.split(" ").length))).toBeLessThanOrEqual(28);
  });

  it("of each device is one paragraph if there are several", () => {
    const [text] = outOfMemoryTexts.filter(({ of }) => of === "two ranks under torchrun").map((each) => each.text);
    expect(factsOf(text!)).toEqual([
      expect.stringMatching(/^GPU 1 \(rank 1\) could not allocate 3\.300 GiB\. .* Memory is full: 1\.419 GiB more/),
      expect.stringMatching(
        /^GPU 0 \(rank 0\) .* Other processes use 24\.27 GiB .* Process 1201 has 24\.27 GiB of it\./,
      ),
    ]);
    const reports = reportsOf(text!);
    const document = allocatorDocument({ ...reports[1]!, others: [reports[0]!] });
    expect(document.value()).toMatchObject({
      cause: "other-process",
      name: "GPU 0",
      reports: [
        { cause: "full", name: "GPU 1", reporter: "rank 1" },
        { cause: "other-process", name: "GPU 0", reporter: "rank 0" },
      ],
    });
  });

  it("names at most eight devices", () => {
    const line = (rank: number): string =>
      `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${rank + 1}.00 GiB. GPU ${rank} has a total capacity of 79.00 GiB of which 0 bytes is free.`;
    const facts = factsOf(Array.from({ length: 10 }, (_, rank) => line(rank)).join("\n"));
    expect(facts).toHaveLength(9);
    expect(facts.at(-1)).toBe("2 more processes failed. See --format json.");
  });

  it.each([
    ["the library's own limit", "vLLM, for its cache", "Raise --gpu-memory-utilization, or lower --max-model-len."],
    ["Intel's limit of one allocation", "XPU, an allocation above 4 GiB", "UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1"],
    ["shared memory", "a DataLoader worker without shared memory", "--shm-size=8g"],
    ["blocks of a kernel", "Triton 2", "A kernel needs 144 KiB of on-chip memory, and the device has 99 KiB."],
    [
      "how little defragmentation gains",
      "a device with a few pieces",
      "This gains at most 28.56 MiB: use a smaller batch",
    ],
    ["a process by its id", "PyTorch 2.4 beside a server that is named", "Process 6311 has 8.090 GiB of it."],
    ["memory on the host of Windows", "PyTorch 2.0 on Windows, with more than the GPU has", "shared system memory"],
    ["what a compiled program needs", "JAX on a GPU", "The compiled program needs 14.42 GiB: 9.620 GiB outputs"],
  ])("names %s", (_what, of, said) => {
    const { text } = outOfMemoryTexts.find((each) => each.of === of)!;
    expect(factsOf(text).join("\n")).toContain(said);
  });
});
