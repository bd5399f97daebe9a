import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { quoted, titleOf } from "../test-text.js";
import { checkProgram } from "./check-program.js";
import { indented } from "./indented.js";
import { programs } from "./program.js";
import { clocks, withClock } from "./seeded-clock.js";
import { sourceOfProgram } from "./source-of-program.js";
import { ways } from "./ways.js";

/** Training programs, each unmodified and in some of the other ways. */
export const programsKind: FuzzerKind = {
  title: "programs",
  backends: ["cpu", "wasm", "tensorflow"],
  share: 8,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: fc.record({
        program: programs,
        names: fc.subarray(Object.keys(ways), { minLength: 1 }),
        clock: clocks,
      }),
      check: async ({ program, names, clock }) => withClock(clock, () => checkProgram(sourceOfProgram(program), names)),
      testOf: ({ program, names, clock }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  await startBackend(${quoted(campaign.backend)});`,
          `  const program = ${quoted(indented(sourceOfProgram(program)))};`,
          `  const found = await withClock(${JSON.stringify(clock)}, () => checkProgram(program, [${names.map(quoted).join(", ")}]));`,
          "  expect(found).toBeUndefined();",
          "});",
        ].join("\n"),
    }),
};
