import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { quoted, titleOf } from "../test-text.js";
import { checkLeaks } from "./check-leaks.js";
import { leakyPrograms } from "./leaky-program.js";
import { sourceOfLeakyProgram } from "./source-of-leaky-program.js";

/** Programs that dispose some of their tensors. Every leaking line must be found, with its leaks, and no other. */
export const leaksKind: FuzzerKind = {
  title: "programs with planted leaks",
  backends: ["cpu", "tensorflow"],
  share: 2,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: leakyPrograms,
      check: async (program) => checkLeaks(sourceOfLeakyProgram(program)),
      testOf: (program, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  await startBackend(${quoted(campaign.backend)});`,
          `  const program = ${quoted(sourceOfLeakyProgram(program))};`,
          "  expect(await checkLeaks(program)).toBeUndefined();",
          "});",
        ].join("\n"),
    }),
};
