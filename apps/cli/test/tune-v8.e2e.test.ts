import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { flagsOfShortRuns, growingYoungGeneration } from "../src/tune-v8.js";

/** Reports the size of the young generation after many objects survived, and how often V8 optimized a function. */
const program = `
const v8 = require("node:v8");
for (const flag of process.argv.slice(1)) v8.setFlagsFromString(flag);
const kept = [];
const keep = (at) => kept.push({ at });
for (let at = 0; at < 5000; at++) keep(at);
const many = Array.from({ length: 1e6 }, (_, at) => ({ at }));
const { space_size } = v8.getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
console.log("young generation: " + space_size, many.length, kept.length);
`;

function runWith(flags: readonly string[]) {
  const { stdout, stderr } = spawnSync(process.execPath, ["--trace-opt", "-e", program, "--", ...flags], {
    encoding: "utf8",
  });
  return {
    stderr,
    youngBytes: Number(/young generation: (\d+)/.exec(stdout)![1]),
    optimizations: stdout.split("completed optimizing").length - 1,
  };
}

describe("V8 flags of a short run", () => {
  it("are known to this version of Node and take effect while it runs", () => {
    const flags = flagsOfShortRuns(process.versions.node);
    expect(flags).not.toEqual([]);
    const [usual, tuned] = [runWith([]), runWith(flags)];
    expect(tuned.stderr).toBe("");
    expect(tuned.youngBytes).toBeLessThanOrEqual(4 * 2 ** 20);
    expect(usual.youngBytes).toBeGreaterThan(8 * 2 ** 20);
    expect(tuned.optimizations).toBeLessThan(usual.optimizations);
  });

  it("let the young generation grow again if the heap is large", () => {
    const grown = runWith([...flagsOfShortRuns(process.versions.node), growingYoungGeneration]);
    expect(grown.stderr).toBe("");
    expect(grown.youngBytes).toBeGreaterThan(8 * 2 ** 20);
  });

  it("are left out for unknown versions", () => {
    expect(flagsOfShortRuns("99.0.0")).toEqual([]);
  });
});
