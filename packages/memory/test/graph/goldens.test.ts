import { goldensOf } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { compareFxGolden } from "./compare-fx-golden.js";

const goldens = goldensOf("fx-memory-oracle/1");

test("the folder has goldens of this schema", () => {
  expect(goldens.length).toBeGreaterThan(0);
});

describe.each(goldens.map(({ file, golden }) => [file.name, golden] as const))("%s", (_name, golden) => {
  test("agrees with torch's memory estimator", () => {
    expect(compareFxGolden(golden)).toEqual([]);
  });

  test.each([
    ["a number of a profile", (copy: any) => (copy.graphs.default.backward.profile[5] += 1)],
    ["a last user", (copy: any) => rename(copy.graphs.min_cut.forward.storage_to_last_user)],
    ["an allocator", (copy: any) => rename(copy.graphs.make_fx_forward.storage_to_allocator)],
    ["a peak of a random order", (copy: any) => (copy.graphs.default.forward.memory_tracker[2].peak -= 8)],
    [
      "the baseline of the backward pass",
      (copy: any) => (copy.graphs.min_cut.interactions.fixed.bwd_baseline_memory += 4),
    ],
    ["the bytes of a storage", (copy: any) => (copy.storages[0][0] += 4)],
  ])("a copy with %s changed disagrees", (_what, change) => {
    const copy = structuredClone(golden);
    change(copy);
    expect(compareFxGolden(copy)).not.toEqual([]);
  });
});

function rename(table: Record<string, string>): void {
  table[Object.keys(table)[3]] += "_other";
}
