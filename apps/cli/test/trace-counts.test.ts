import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDispatchMode } from "@remat/dispatch-hook";
import { afterAll, describe, expect, test } from "vitest";
import { bfcLog } from "../../../packages/memory/test/failure/allocator-logs.js";
import { remat } from "./run.js";

const example = (name: string): string => fileURLToPath(new URL(`../../../examples/${name}/model.js`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-trace-counts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command, and counts the forward and backward passes that it traces, and the kernels of everything it traces. */
async function counts(...args: string[]): Promise<{ passes: number; kernels: number }> {
  let passes = 0;
  let kernels = 0;
  let depth = 0;
  const close = openDispatchMode({
    opDone: () => void kernels++,
    gradients(_, next) {
      if (depth++ === 0) passes++;
      try {
        return next();
      } finally {
        depth--;
      }
    },
  });
  try {
    const { code, stderr } = await remat(...args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
  } finally {
    close();
  }
  return { passes, kernels };
}

const step = (name: string): string[] => [example(name), "--size", "tiny", "--backend", "tensorflow"];

describe("a command traces each step that it needs once", () => {
  // The step as it runs, the step with the gradients of plans, and the step with early release. Each runs other kernels
  // or frees tensors at other times, so no trace contains another. One model takes all three.
  test.each([
    { command: ["estimate"], passes: 3, kernels: 2031 },
    { command: ["memory"], passes: 3, kernels: 2031 },
    { command: ["plan", "--budget", "80%"], passes: 3, kernels: 2031 },
    // The terminal app judges in another thread, with a model of its own.
    { command: ["ui", "--once", "--columns", "100"], passes: 3, kernels: 2343 },
    // A step comes before them, in which the optimizer makes its state.
    { command: ["memory", "--optimizer", "adam"], passes: 4, kernels: 4072 },
    // Inference has no backward pass. The others are predictions for other batches.
    { command: ["memory", "--predict"], passes: 0, kernels: 1092 },
  ])("$command", async ({ command: [command, ...options], ...expected }) => {
    expect(await counts(command, ...step("transformer"), ...options)).toEqual(expected);
  });

  // The what-if questions need ten other steps, and share the three of the verdict.
  test("report, with its what-if questions", async () => {
    const report = ["--batch", "2", "--iterations", "50", "-o", join(folder, "report.html")];
    expect(await counts("report", ...step("transformer"), ...report)).toEqual({ passes: 13, kernels: 10_249 });
  });

  test("report, if the gradients of plans change the peak", async () => {
    const report = ["--batch", "2", "--iterations", "50", "-o", join(folder, "report.html")];
    expect(await counts("report", ...step("u-net"), ...report)).toEqual({ passes: 12, kernels: 5235 });
  });

  // Each kind of step is traced at batches 2 and 3, from which others are scaled, and at the answers to confirm them.
  test("fit, however many devices and batches are searched", async () => {
    const fit = ["--devices", "a100,h100,l4", "--batch", "1..512", "--memory", "20MB", "--iterations", "20"];
    expect(await counts("fit", ...step("u-net"), ...fit)).toEqual({ passes: 19, kernels: 6515 });
  });

  test("nothing to explain a log", async () => {
    const log = join(folder, "oom.log");
    writeFileSync(
      log,
      bfcLog({ name: "GPU_0_bfc", regions: [], limitBytes: 2 ** 20, shape: [384, 1024], op: "Conv2D" }),
    );
    expect(await counts("explain", log)).toEqual({ passes: 0, kernels: 0 });
  });
});
