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
