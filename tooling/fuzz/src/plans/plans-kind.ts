import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { changeJson, jsonChanges } from "../json-changes.js";
import { indented } from "../programs/indented.js";
import { quoted, titleOf } from "../test-text.js";
import { checkPlan } from "./check-plan.js";
import { planSubjects } from "./plan-subjects.js";

const subjectCount = 4;

/** Plans with any field, order or number of steps changed. */
export const plansKind: FuzzerKind = {
  title: "changed plans",
  backends: ["cpu"],
  share: 2,
  run: async (campaign) => {
    const subjects = await planSubjects(campaign.seed, subjectCount);
    await explore(campaign, {
      arbitrary: fc.record({ subject: fc.constantFrom(...subjects), changes: jsonChanges }),
      check: async ({ subject: { source, file, expected }, changes }) =>
        checkPlan(source, changeJson(file, changes), expected),
      testOf: ({ subject: { source, file }, changes }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  await startBackend(${quoted(campaign.backend)});`,
          `  const program = ${quoted(indented(source))};`,
          `  const plan = ${JSON.stringify(changeJson(file, changes))};`,
          `  const { expected } = (await subjectOf(program))!;`,
          "  expect(await checkPlan(program, plan, expected)).toBeUndefined();",
          "});",
        ].join("\n"),
    });
  },
};
