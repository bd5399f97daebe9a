import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { titleOf } from "../test-text.js";
import { checkInterrupt, writingCommands } from "./check-interrupt.js";

/** Commands that write files, ended at any moment. */
export const interruptsKind: FuzzerKind = {
  title: "interrupted commands",
  backends: ["cpu"],
  share: 1,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: fc.record({
        name: fc.constantFrom(...Object.keys(writingCommands)),
        interrupt: fc.record({
          signal: fc.constantFrom("SIGINT" as const, "SIGTERM" as const, "SIGKILL" as const),
          afterMs: fc.nat(2500),
          hasOld: fc.boolean(),
        }),
      }),
      check: async ({ name, interrupt }) => checkInterrupt(name, interrupt),
      testOf: ({ name, interrupt }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  expect(await checkInterrupt(${JSON.stringify(name)}, ${JSON.stringify(interrupt)})).toBeUndefined();`,
          "});",
        ].join("\n"),
    }),
};
