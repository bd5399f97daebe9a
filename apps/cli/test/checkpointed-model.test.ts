import { fileURLToPath } from "node:url";
import { endCheckpointing } from "@remat/checkpoint";
import { afterEach, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const model = fileURLToPath(new URL("fixtures/checkpointed/model.js", import.meta.url));
const step = ["--optimizer", "adam"];

// Each command is a process of its own but here.
afterEach(() => endCheckpointing());

async function json(command: string, ...args: string[]) {
  const { code, stdout, stderr } = await remat(command, model, ...step, ...args, "--format", "json");
  endCheckpointing();
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("a model that checkpoints its blocks by hand", () => {
  it("is shown as it runs, with what is recomputed, or as it is without", async () => {
    const [given, free] = [await json("memory"), await json("memory", "--checkpointing", "free")];
    expect(given.peakBytes).toBeLessThan(free.peakBytes);
    const { stdout } = await remat("memory", model, ...step, "--snapshots");
    expect(stdout).toContain("Post-Forward-AC");
    // A plan, and early release, would be of the step without.
    expect(stdout.split("\n\n")[0]).toMatch(/^The model's manual activation checkpointing recomputes \d+ ops\.$/m);
  });

  it("is planned without what it says, since a plan decides that", async () => {
    const free = await json("memory", "--checkpointing", "free");
    const plan = await json("plan", "--budget", "60%", "--iterations", "500");
    expect(plan).toMatchObject({ feasible: true, stockPeakBytes: free.peakBytes });
    // The document also contains the step with manual checkpointing, for comparison with the plan.
    const { given } = plan.verdict;
    const { peakBytes } = await json("memory");
    expect(given).toEqual({ peakBytes, recomputedOps: expect.any(Number) });
    const { stdout } = await remat("plan", model, ...step, "--budget", "60%", "--iterations", "500", "--units", "B");
    const told = `With the model's manual activation checkpointing: ${peakBytes} B`;
    expect(stdout.split("\n\n")[0]).toContain(told);
    const refused = await remat("plan", model, ...step, "--budget", "60%", "--checkpointing", "given");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(
      /\d+ of the \d+ ops of 'model' are recomputations.* Trace the step with checkpointing "free"/,
    );
  });
});
