import fc from "fast-check";
import { buildTrace, type OpSpec, opSpecs } from "../../../../packages/planner/test/plan/random-traces.js";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { titleOf } from "../test-text.js";
import { checkTracePlans } from "./check-trace-plans.js";

const ops: fc.Arbitrary<readonly OpSpec[]> = fc.array(opSpecs, { minLength: 1, maxLength: 14 });

/** Steps of generated ops, including views, in-place and random ones, planned and followed. */
export const stepsKind: FuzzerKind = {
  title: "planned steps",
  backends: ["cpu"],
  share: 2,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: fc.record({ forward: ops, backward: ops, tenths: fc.integer({ min: 1, max: 10 }), seed: fc.nat(3) }),
      check: async ({ forward, backward, tenths, seed }) =>
        checkTracePlans(buildTrace(forward, backward), tenths / 10, seed),
      testOf: ({ forward, backward, tenths, seed }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  const trace = buildTrace(${JSON.stringify(forward)}, ${JSON.stringify(backward)});`,
          `  expect(await checkTracePlans(trace, ${tenths / 10}, ${seed})).toBeUndefined();`,
          "});",
        ].join("\n"),
    }),
};
