import { type PlanningNode, planningGraph } from "@remat/planner/graph";
import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { titleOf } from "../test-text.js";
import { checkGraph } from "./check-graph.js";

const costs = fc.constantFrom(fc.constant(0), fc.nat(1), fc.nat(5), fc.nat(20));

/** Nodes of small graphs, each with one output. Costs and bytes may be 0. */
const nodes: fc.Arbitrary<readonly PlanningNode[]> = costs
  .chain((cost) =>
    fc.array(fc.record({ cost, bytes: fc.nat(9), reads: fc.array(fc.nat(6), { maxLength: 3 }) }), {
      minLength: 2,
      maxLength: 7,
    }),
  )
  .map((specs) =>
    specs.map(({ cost, bytes, reads }, v) => ({
      name: `n${v}`,
      cost,
      outputBytes: [bytes],
      inputs: [...new Set(reads)].filter((u) => u < v).map((u) => [u, 0] as const),
    })),
  );

/** Small graphs, planned. */
export const graphsKind: FuzzerKind = {
  title: "small graphs",
  backends: ["cpu"],
  share: 2,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: fc.record({
        nodes,
        share: fc.constantFrom(1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5),
        order: fc.constantFrom("fixed" as const, "free" as const),
      }),
      check: async ({ nodes, share, order }) => checkGraph(planningGraph([...nodes]), share, order),
      testOf: ({ nodes, share, order }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  const graph = planningGraph(${JSON.stringify(nodes)});`,
          `  expect(await checkGraph(graph, ${share}, ${JSON.stringify(order)})).toBeUndefined();`,
          "});",
        ].join("\n"),
    }),
};
