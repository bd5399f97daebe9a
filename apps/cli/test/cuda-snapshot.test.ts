import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goldenFiles } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { remat } from "./run.js";

const MiB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), "remat-snapshot-"));
const snapshot = join(folder, "snapshot.json");
const transformer = goldenFiles().find(({ name }) => name === "mem_tf_b2_adam")!.path;

/** A line of a program that takes 12 MiB and gives them back, and another that takes 30, with the memory of the first kept. */
writeFileSync(
  snapshot,
  JSON.stringify({
    schema: "cuda-snapshot/1",
    settings: "max_split_size_mb:64",
    devices: [
      {
        device: 0,
        segments: [{ bytes: 30 * MiB, stream: 0, blocks: [[64 * MiB, 30 * MiB, 30 * MiB, 1, 1]] }],
        trace: [
          ["segment_alloc", 0, 12 * MiB, 0, 0],
          ["alloc", 0, 12 * MiB, 0, 0],
          ["free_requested", 0, 12 * MiB, 0, -1],
          ["segment_alloc", 64 * MiB, 30 * MiB, 0, 1],
          ["alloc", 64 * MiB, 30 * MiB, 0, 1],
          ["segment_free", 0, 12 * MiB, 0, -1],
        ],
      },
    ],
    stacks: [[0, 1], [1]],
    frames: [
      ["/home/a/model.py", 12, "forward"],
      ["/home/a/train.py", 20, "step"],
    ],
  }),
);

/** The same allocator, which then had no 40 MiB for another line: 30 MiB are free, in two pieces. */
const failed = join(folder, "failed.json");
writeFileSync(
  failed,
  JSON.stringify({
    schema: "cuda-snapshot/1",
    settings: "",
    devices: [
      {
        device: 2,
        segments: [
          {
            bytes: 90 * MiB,
            stream: 0,
            blocks: [
              [0, 20 * MiB, 20 * MiB, 1, 0],
              [20 * MiB, 25 * MiB, 0, 0, -1],
              [45 * MiB, 20 * MiB, 20 * MiB, 1, 0],
              [65 * MiB, 25 * MiB, 0, 0, -1],
            ],
          },
          { bytes: 64 * MiB, stream: 0, isPrivate: 1, blocks: [[200 * MiB, 64 * MiB, 0, 0, -1]] },
        ],
        trace: [
          ["segment_alloc", 0, 90 * MiB, 0, 0],
          ["alloc", 0, 20 * MiB, 0, 0],
          ["alloc", 20 * MiB, 25 * MiB, 0, 0],
          ["alloc", 45 * MiB, 20 * MiB, 0, 0],
          ["free_requested", 20 * MiB, 25 * MiB, 0, -1],
        ],
        failures: [[5, 40 * MiB, 3 * MiB, 0, 1]],
      },
    ],
    stacks: [[0, 1], [1]],
    frames: [
      ["/home/a/model.py", 12, "forward"],
      ["/home/a/train.py", 20, "step"],
    ],
  }),
);

describe("a snapshot that the CUDA allocator wrote when it ran out of memory", () => {
  it("never fits", async () => {
    const { code, stdout } = await remat("memory", failed);
    expect(code).toBe(0);
    const [facts] = stdout.split("\n\n");
    expect(facts.split("\n")).toEqual([
      "Out of memory in step at /home/a/train.py:20:1, allocating 40 MiB: the backend's allocator had no more memory.",
      "40 MiB was in use: other (100%).",
      expect.stringMatching(/^40 MiB allocated by model\.py:12 forward/),
      `To see which memory was free, and in which pieces:  remat explain ${failed}`,
    ]);
    expect(JSON.parse((await remat("memory", failed, "--format", "json")).stdout)).toMatchObject({
      verdict: { fits: false },
    });
  });

  it("is explained: what was asked for, by which line, and which pieces were free", async () => {
    const { code, stdout } = await remat("explain", failed);
    expect(code).toBe(0);
    expect(stdout.split("\n\n")[0].split("\n")).toEqual([
      "GPU 2 could not allocate 40 MiB for step at /home/a/train.py:20.",
      "Memory: 40 MiB in use, 50 MiB free in its pool, 3 MiB free elsewhere, 64 MiB free for other streams or private pools only.",
      "The free memory of the pool is in 2 pieces, the largest 25 MiB: 50.0% fragmentation.",
      "The cause is fragmentation: enough memory is free, but not in one piece. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, so that the driver joins the pieces.",
    ]);
  });

  it("is told from one without an error, and from a pickle", async () => {
    expect(await remat("explain", snapshot)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /has no out-of-memory error\. To see what used the memory, run remat memory /,
      ) as string,
    });
    const pickled = join(folder, "oom.pickle");
    writeFileSync(pickled, "");
    expect(await remat("explain", pickled)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Run python -m remat snapshot") as string,
    });
  });
});

describe("remat memory of what the CUDA allocator saw", () => {
  it("names the lines, and shows what was reserved beside what is predicted", async () => {
    const { code, stdout, stderr } = await remat("memory", snapshot, "--units", "MiB");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("train.py:20 step");
    expect(stdout).toMatch(/allocated\s+30\.0 MiB\s+30\.0 MiB/);
    expect(stdout).toMatch(/reserved\s+42\.0 MiB\s+42\.0 MiB/);
  });

  it("stands beside the prediction of a step", async () => {
    const ask = async (...args: string[]) =>
      JSON.parse((await remat("memory", transformer, "--format", "json", ...args)).stdout);
    const { peakBytes, reserved, measured } = await ask("--snapshot", snapshot);
    expect(measured).toEqual({ allocatedPeakBytes: 30 * MiB, reservedPeakBytes: 42 * MiB });
    // The rest of a block that is too small for its own block counts as allocated.
    expect(reserved.allocatedPeakBytes).toBeGreaterThanOrEqual(peakBytes);
    expect(reserved.allocatedPeakBytes).toBeLessThan(1.02 * peakBytes);
    expect(reserved.reservedPeakBytes).toBeGreaterThanOrEqual(peakBytes);
    const growing = await ask("--reserved", "expandable_segments:True");
    expect(growing.reserved.reservedPeakBytes).toBeLessThanOrEqual(reserved.reservedPeakBytes);
    expect(growing.measured).toBeUndefined();
  });

  it("refuses settings that the allocator would refuse, and files of another kind", async () => {
    expect(await remat("memory", transformer, "--reserved", "max_split_size_mb:1")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("a whole number of MiB from 20 up"),
    });
    expect(await remat("memory", transformer, "--snapshot", transformer)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Write one with python -m remat snapshot"),
    });
    writeFileSync(join(folder, "snapshot.pickle"), Buffer.from([0x80, 5, 0x2e]));
    expect(await remat("memory", join(folder, "snapshot.pickle"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("python -m remat snapshot"),
    });
    expect(await remat("plan", snapshot, "--budget", "50%")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no backward pass"),
    });
  });
});
