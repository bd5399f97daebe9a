import { type Golden, goldensOf } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { compareMemoryGolden, statsOf, upstream } from "../compare-golden.js";
import { compareFsdpSimulation, isSimulated, simulateGolden } from "../compare-simulation.js";

const goldens = goldensOf("fsdp-oracle/1")
  .filter(({ golden }) => isSimulated(golden))
  .map(({ file, golden }) => [file.name, golden] as const);

describe("simulated from the unsharded run", () => {
  it("has goldens", () => expect(goldens.length).toBeGreaterThan(0));

  it.each(goldens)("%s is predicted within its bounds", (_, golden) => {
    expect(compareFsdpSimulation(golden)).toEqual([]);
  });

  it.each(goldens)("%s is predicted to the byte: peaks, and every state of every module", (_, golden) => {
    const { tracker } = simulateGolden(golden);
    expect(upstream(tracker.snapshot("peak"), true)).toEqual(golden["results"].peak);
    const ours = tracker.modules().map((module) => statsOf(module, true));
    // Upstream names a sharded module's class `FSDP…`, and so the root.
    const theirs = (golden["results"].stats as { fqn: string }[]).map((s) => ({
      ...s,
      fqn: s.fqn.replace(/^FSDP/, ""),
    }));
    expect(Object.fromEntries(ours.map((s) => [s["fqn"], s]))).toEqual(
      Object.fromEntries(theirs.map((s) => [s.fqn, s])),
    );
  });

  it.each(goldens)("%s: a peak that is larger by a fiftieth is noticed", (_, golden) => {
    const changed = structuredClone(golden) as Golden;
    const peak = changed["results"].peak["cuda:0"];
    peak.Total = Math.round(peak.Total * 1.02);
    expect(compareFsdpSimulation(changed)).toHaveLength(1);
  });

  it("does not read the answers of the sharded run", () => {
    const [, golden] = goldens[0];
    const changed = structuredClone(golden) as Golden;
    for (const event of changed["events"]) delete event.cur;
    changed["events"].length = 0;
    expect(upstream(simulateGolden(changed).tracker.snapshot("peak"), true)).toEqual(golden["results"].peak);
    expect(compareMemoryGolden(changed)).not.toEqual([]);
  });
});
