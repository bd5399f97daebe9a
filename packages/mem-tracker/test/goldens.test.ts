import { goldensOf } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { compareMemoryGolden } from "./compare-golden.js";

describe.each(["mem-oracle/1", "fsdp-oracle/1"])("goldens of %s", (schema) => {
  const goldens = goldensOf(schema);

  it("are there", () => expect(goldens.length).toBeGreaterThan(0));

  it.each(goldens.map(({ file, golden }) => [file.name, golden] as const))("%s agrees in every answer", (_, golden) => {
    expect(compareMemoryGolden(golden).slice(0, 8)).toEqual([]);
  });
});
