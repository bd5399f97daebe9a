import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { executions } from "../programs/executions.js";
import { indented } from "../programs/indented.js";
import { programs } from "../programs/program.js";
import { clocks, withClock } from "../programs/seeded-clock.js";
import { sourceOfProgram } from "../programs/source-of-program.js";
import { quoted, titleOf } from "../test-text.js";
import { checkFault } from "./check-fault.js";

/** Programs in which a kernel fails. */
export const faultsKind: FuzzerKind = {
  title: "injected failures",
  backends: ["cpu", "wasm", "tensorflow"],
  share: 2,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: fc.record({
        program: programs,
        way: fc.constantFrom(...Object.keys(executions)),
        fault: fc.record({
          call: fc.oneof(fc.nat(40), fc.nat(400)),
          moment: fc.constantFrom("before" as const, "after" as const),
        }),
        clock: clocks,
      }),
      check: async ({ program, way, fault, clock }) =>
        withClock(clock, () => checkFault(sourceOfProgram(program), way, fault)),
      testOf: ({ program, way, fault, clock }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  await startBackend(${quoted(campaign.backend)});`,
          `  const program = ${quoted(indented(sourceOfProgram(program)))};`,
          `  const fault = ${JSON.stringify(fault)};`,
          `  const found = await withClock(${JSON.stringify(clock)}, () => checkFault(program, ${quoted(way)}, fault));`,
          "  expect(found).toBeUndefined();",
          "});",
        ].join("\n"),
    }),
};
