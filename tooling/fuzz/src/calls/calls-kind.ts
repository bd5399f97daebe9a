import fc from "fast-check";
import { checkCallFault, errorCodes, orders } from "../../../../packages/program/test/faults/run-with-fault.js";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { quoted, titleOf } from "../test-text.js";

/** Programs under `record`, `exec`, `leaks` and `watch`, in which system calls of remat's code fail. */
export const callsKind: FuzzerKind = {
  title: "failing system calls",
  backends: ["cpu"],
  share: 1,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: fc.record({
        name: fc.constantFrom(...Object.keys(orders)),
        fault: fc.record({
          at: fc.oneof(fc.nat(60), fc.nat(330)),
          code: fc.constantFrom(...errorCodes),
          keeps: fc.boolean(),
        }),
      }),
      check: async ({ name, fault }) => checkCallFault(name, fault),
      testOf: ({ name, fault }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  expect(await checkCallFault(${quoted(name)}, ${JSON.stringify(fault)})).toBeUndefined();`,
          "});",
        ].join("\n"),
    }),
};
