import { describe, expect, it } from "vitest";
import { checkpointsDocument } from "../../src/documents/checkpoints-document.js";
import { outputFormats } from "../../src/formats/index.js";

const point = { peakBytes: 8, recomputeMs: 0, bookkeepingMs: 0, overhead: 0 };

/** The line of the table that shows what is saved of a unit. */
function savedOf(unit: Parameters<typeof checkpointsDocument>[0]["units"][number]): string {
  const document = checkpointsDocument({
    name: "model",
    pricedFor: "a100",
    isEstimated: true,
    stepMs: 1,
    host: { known: "unknown", launchMs: undefined },
    budgetBytes: 8,
    plain: { ...point, name: "stock" },
    planned: { ...point, name: "planned" },
    units: [unit],
    least: { ...point, name: "least" },
    byHand: [],
    refused: new Map(),
  });
  const text = outputFormats.find(({ name }) => name === "plain")!.write(document, {});
  return text.split("\n").find((line) => line.startsWith(unit.name))!;
}

describe("a checkpointed module", () => {
  it.each([
    ["recomputed as a whole", { saved: [], parts: [] }, "nothing"],
    [
      "with saved ops",
      { saved: ["aten.mm.default", "aten.relu.default"], parts: [] },
      "aten.mm.default, aten.relu.default",
    ],
    ["with one part of several ops", { saved: [], parts: [[2, 5]] }, "all except ops 2 to 4"],
    ["with a part of one op", { saved: [], parts: [[2, 3]] }, "all except op 2"],
    ["with a part that keeps ops", { saved: [], parts: [[2, 9, [3, 4]]] }, "all except ops 2 to 8, without 3 and 4"],
    [
      "with two parts in known modules",
      {
        saved: [],
        parts: [
          [0, 2],
          [4, 6],
        ],
        places: [
          ["a", "a"],
          ["b", "c"],
        ],
      },
      "all except in a (ops 0 to 1), from b to c (ops 4 to 5)",
    ],
  ] as const)("%s", (_, unit, saved) => expect(savedOf({ name: "block", ...unit })).toContain(saved));
});
