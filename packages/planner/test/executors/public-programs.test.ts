import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { CheckpointedSteps } from "@remat/memory/checkpointing";
import { MemTracker, trackMemory } from "@remat/memory/tracker";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { Phase, type Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { planTorchCheckpoints } from "../../src/executors/index.js";

/** Recorded by `tooling/pytorch-exporter/test/write_fixtures.py`, with the peak as it reckons it from the file. */
function recorded(name: string): { readonly trace: Trace; readonly peakBytes: number } {
  const fixture = new URL(`../../../pytorch/test/fixtures/${name}-step.json.gz`, import.meta.url);
  const file = JSON.parse(gunzipSync(readFileSync(fixture)).toString());
  return { trace: priceTrace(readPyTorchTrace(file), deviceSpec("a100")), peakBytes: file.results.peak.Total };
}

const phasesOf = (trace: Trace): number[] => [...trace.ops.phase].filter((phase, op, all) => phase !== all[op - 1]);

describe("steps of public programs", () => {
  it.each(["lbfgs", "gan", "gradient-penalty", "sparse", "encoder"])(
    "%s: hold what they held when recorded",
    (name) => {
      const { trace, peakBytes } = recorded(name);
      expect(trackMemory(trace).peakBytes()).toBe(peakBytes);
      expect(planTorchCheckpoints(trace, { budget: { fraction: 1 }, timeMs: 0 }).plain.peakBytes).toBe(peakBytes);
    },
  );

  it("have the work of an optimizer's closure where it belongs", () => {
    const { forward, backward, optimizer } = Phase;
    const phases = phasesOf(recorded("lbfgs").trace);
    expect(phases.slice(0, 6)).toEqual([forward, backward, optimizer, forward, backward, optimizer]);
  });

  it("keep what is known of a model while another one of the same step begins anew", () => {
    const { trace } = recorded("gan");
    const modules = trackMemory(trace).modules();
    const statesOf = (fqn: string) => [...(modules.find((one) => one.fqn === fqn)?.snapshots.keys() ?? [])];
    // The generator runs once. The discriminator runs three times, and the last run is reported.
    for (const fqn of ["ModuleDict.g", "ModuleDict.g.4", "ModuleDict.d", "ModuleDict.d.7"])
      expect(statesOf(fqn)).toEqual([
        "peakForward",
        "preForward",
        "postForward",
        "peakBackward",
        "preBackward",
        "postBackward",
      ]);
    expect(modules.find((one) => one.fqn === "ModuleDict.d")?.snapshots.get("preForward")).toHaveLength(1);
    expect(() => new MemTracker().update(trace)).toThrow(expect.objectContaining({ code: "MEMORY_SECOND_ITERATION" }));
  });

  it("are checkpointed where a gradient has a gradient of its own", () => {
    const { trace } = recorded("gradient-penalty");
    expect(planTorchCheckpoints(trace, { timeMs: 50 }).refused.get("Sequential")).toBe(undefined);
    const under = new CheckpointedSteps(trace).under([{ fqn: "Sequential", saved: [] }], "");
    expect(under.ops.phase.includes(Phase.recompute)).toBe(true);
    expect(
      planTorchCheckpoints(recorded("encoder").trace, { timeMs: 50 }).refused.get("ModuleDict.encoder.layers.0"),
    ).toBe(undefined);
  });
});
