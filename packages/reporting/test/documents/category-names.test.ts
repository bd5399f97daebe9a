import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import { categoryNames } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { categoryLabels } from "../../src/category-colours.js";
import { memoryDocument } from "../../src/documents/index.js";
import { labelCategory, summarizeMemory } from "../../src/index.js";

const goldens = goldenFiles().filter(({ name }) => /^(?:mem|fsdp)_/.test(name));

describe("how people read the name of a category", () => {
  it.each(goldens)("is the same word in each table of $name", (golden) => {
    const summary = summarizeMemory(readPyTorchTrace(readGolden(golden)), { forwardOnly: true });
    const tables = memoryDocument(summary)
      .parts()
      .filter((part) => part.kind === "table");
    const labels: ReadonlySet<string> = new Set(Object.values(categoryLabels));
    let told = 0;
    for (const { headers, rows } of tables)
      for (const row of rows)
        for (const cell of row) {
          expect(categoryNames).not.toContain(cell);
          if (headers[row.indexOf(cell)] !== "Category" || cell === "Total") continue;
          expect(labels).toContain(cell);
          told++;
        }
    expect(told).toBeGreaterThan(0);
  });

  it("is left as it is where it is none of ours, such as a program's own", () => {
    expect(labelCategory("optimizerState")).toBe("Optimizer state");
    expect(labelCategory("constructor")).toBe("constructor");
  });
});
