import { RematError } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { judgeAllocatorLog, readAllocatorLog, readMemoryError } from "../../src/failure/index.js";

const bfc = "Allocator (x) ran out of memory trying to allocate ";
const start = `${bfc}1.0KiB\n`;

/** Logs around a part that is repeated: each took minutes, or could, where an expression tried every place anew. */
const pumped: readonly (readonly [before: string, part: string, after: string])[] = [
  ["CUDA out of memory. Tried to allocate ", "1", "\n"],
  ["CUDA out of memory. Tried to allocate ", "1.", "\n"],
  ["CUDA out of memory. ", "1.", " GiB total capacity"],
  ["CUDA out of memory. ", "1.00 ", "GiB"],
  ["CUDA out of memory. ", "1.00 GiB ", "total capacity"],
  ["CUDA out of memory. ", " total capacity", ""],
  ["CUDA out of memory. ", "of which ", "1 GiB"],
  ["CUDA out of memory. ", "Tried to allocate ", "1"],
  ["CUDA out of memory. ", " ", "x\n"],
  ["CUDA out of memory. ", "abort(", "\n"],
  ["", "CUDA out of memory. ", "\n"],
  ["", "Allocator (", "\n"],
  ["", "Allocator ()", "\n"],
  ["", bfc, "this is not a failure\n"],
  ["", `${bfc}1 KiB this is not a failure\n`, ""],
  ["", "OOM when allocating tensor by ", "\n"],
  ["", "OOM when allocating tensor by allocator", "\n"],
  [`${start}`, "Allocator (", "\n"],
  [`${start}`, "abort(", "\n"],
  [`${start}`, "OOM ", "abort("],
  [`${start}`, "bfc_allocator.cc:1", "\n"],
  [`${start}`, "bfc_allocator.cc:1] ", "\n"],
  [`${start}bfc_allocator.cc:`, "1", "\n"],
  [`${start}Total size in pool: `, "x", "\n"],
  [`${start}`, "Total size in pool: x memory_limit_: ", "\n"],
  [`${start}`, " Limit: ", "\n"],
  [`${start} Limit: `, " ", "x y\n"],
  [`${start} Limit: `, "x", " y\n"],
  [`${start}`, "OOM when allocating tensor with shape[1,", "\n"],
  [`${start}InUse at `, "0", " of size 1"],
  [`${start}Bin (1):`, "\t", "Total"],
  ["OOM when allocating tensor with shape[", "9,", "9] and type float by allocator x\n"],
  ["OOM when allocating tensor with shape[1] and type ", "x", " by allocator x\n"],
  ["", "PyTorch CUDA memory summary, device ID 0 ", "\n"],
  ["", "PyTorch CUDA memory summary, device ID 0\n", "\n"],
  ["", "PyTorch CUDA memory summary, device ID ", "\n"],
  ["PyTorch CUDA memory summary, device ID 0\n", "|", "\n"],
  ["PyTorch CUDA memory summary, device ID 0\n", "| a | 1 B | 1 B | 1 B | 1 B |\n", "\n"],
  [bfc, "1", "\n"],
  [bfc, "1.", " \n"],
  [bfc, " ", "1.0KiB\n"],
  [`${bfc}1.0KiB (rounded to `, "1", ")requested by op x\n"],
  [`${bfc}1.0KiB requested by op `, "x", "\n"],
  ["", "Attempting to allocate ", "That was not possible."],
  ["", "Attempting to allocate That was not possible. ", "\n"],
  ["", "Out of memory while trying to allocate 1 bytes. Size: 1 ", "\n"],
  ["Out of memory while trying to allocate 1 bytes.", " Size: ", "\n"],
  ["Out of memory while trying to allocate ", "1,", "\n"],
  ["Out of memory while trying to allocate ", "1", "\n"],
  ["", "Unable to allocate 1 GiB for an array with shape (", "\n"],
  ["Unable to allocate 1 GiB for an array with shape (", "1,", "1) and data type float\n"],
  ["", "MPS backend out of memory (", "\n"],
  ["", "[rank1]: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 1 has a total capacity of 2.00 GiB ", "\n"],
  ["CUDA out of memory. ", "Process 1 has 1.00 GiB memory in use. ", "\n"],
  ["CUDA out of memory. ", "Process 1 has ", "\n"],
  ["", "Killed\n", ""],
  ["", "Killed", "\n"],
  ["", "exitcode: -9 (pid: 1) ", "\n"],
  ["", "RESOURCE_EXHAUSTED", "\n"],
  ["uses too much shared data (0x", "f", " bytes"],
  ["", "DataLoader worker (pid ", "is killed by signal: Killed"],
  [`${start}`, "1 Chunks of size 1 totalling ", "\n"],
  [`${start}`, "Allocator (y) ran out of memory trying to allocate 1.0KiB\n", "\n"],
];

/** Seconds of this thread's processor time. */
function secondsOf(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function readOrRefuse(text: string): void {
  try {
    readAllocatorLog(text);
  } catch (error) {
    expect(error).toBeInstanceOf(RematError);
    expect((error as RematError).message.length).toBeLessThan(1000);
  }
}

describe("a log of 4 MB is read at once", () => {
  it.each(pumped)("%j, then %j again and again, then %j", (before, part, after) => {
    const text = before + part.repeat(Math.ceil(4e6 / part.length)) + after;
    // Reading it once takes milliseconds. Reading it again at each position would take hours.
    expect(secondsOf(() => readOrRefuse(text))).toBeLessThan(2);
    expect(secondsOf(() => readMemoryError(text))).toBeLessThan(2);
  });
});

describe("a size that no allocator can have", () => {
  const absurd = [
    "Infinity TiB",
    "inf GiB",
    "nan GiB",
    "-4.00 GiB",
    "1e30 GiB",
    "99999999999999999999 GiB",
    "9 EiB",
    "1.2.3 GiB",
  ];

  it.each(absurd)("%s is an error in PyTorch's text, in every place", (size) => {
    const refused = {
      code: "ALLOCATOR_LOG",
      message: expect.stringMatching(/^oom\.log: the log contains an impossible size/),
    };
    const read = (text: string) => () => readAllocatorLog(text, "oom.log");
    expect(read(`CUDA out of memory. Tried to allocate ${size}. GPU 0 has`)).toThrow(expect.objectContaining(refused));
    expect(
      read(
        `CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of ${size} of which 1.00 GiB is free.`,
      ),
    ).toThrow(expect.objectContaining(refused));
    expect(read(`Allocator (g) ran out of memory trying to allocate ${size}`)).toThrow(
      expect.objectContaining(refused),
    );
  });

  it.each(absurd.filter((size) => size !== "1.2.3 GiB"))("%s is an error before its words, too", (size) => {
    expect(() =>
      readAllocatorLog(
        `CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; ${size} total capacity; 1.00 GiB already allocated)`,
      ),
    ).toThrow(/the log contains an impossible size/);
  });

  it("is more than an exabyte, as PyTorch says it", () => {
    const log = readAllocatorLog("CUDA out of memory. Tried to allocate more than 1EB memory.");
    expect([log.askedBytes, judgeAllocatorLog(log)]).toEqual([undefined, "absurd"]);
  });

  it("is left out of what an error in the program says", () => {
    const shape = Array.from({ length: 40 }, () => 99999).join(",");
    expect(readMemoryError(`OOM when allocating tensor with shape[${shape}] and type float`)).not.toHaveProperty(
      "askedBytes",
    );
    expect(
      readMemoryError(`OOM when allocating tensor with shape[${"9".repeat(400)}] and type float`),
    ).not.toHaveProperty("shape");
  });

  it("is not what a log has that breaks off", () => {
    const { askedBytes } = readAllocatorLog("CUDA out of memory. Tried to allocate 2.00 G");
    expect(askedBytes).toBeUndefined();
  });
});
