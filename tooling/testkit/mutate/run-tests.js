// Runs test files as often as it is asked to, each time with another change to a source. Started by mutate.js, with
// REMAT_MUTANT in its environment. Each line of its input is a run, as JSON: the files, in order, until one fails, and
// the change, if there is one. Each line that it writes to file descriptor 3 is a result.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { BaseSequencer, createVitest } from "vitest/node";

const { root, projects } = JSON.parse(process.argv[2]);
/** @type {Map<string, number>} */
let places = new Map();

class NearestFirst extends BaseSequencer {
  async sort(specifications) {
    return specifications.toSorted((a, b) => places.get(a.moduleId) - places.get(b.moduleId));
  }
}

const vitest = await createVitest("test", {
  root,
  project: projects,
  run: true,
  watch: false,
  bail: 1,
  maxWorkers: 1,
  reporters: [{}],
  sequence: { sequencer: NearestFirst },
});

for await (const line of createInterface({ input: process.stdin })) {
  const { files, mutant } = JSON.parse(line);
  process.env.REMAT_MUTANT = mutant === undefined ? "" : JSON.stringify(mutant);
  if (mutant) vitest.invalidateFile(mutant.file);
  const result = await runFiles(files);
  if (mutant) vitest.invalidateFile(mutant.file);
  writeSync(3, `${JSON.stringify(result)}\n`);
}
await vitest.close();
process.exit(0);

async function runFiles(files) {
  places = new Map(files.map((file, i) => [file, i]));
  // `bail` counts the failures of all runs.
  vitest.state.idMap.clear();
  vitest.state.filesMap.clear();
  const specifications = files.flatMap((file) =>
    vitest.projects
      .filter((project) => project.matchesTestGlob(file))
      .map((project) => project.createSpecification(file)),
  );
  const { testModules: modules, unhandledErrors: errors } = await vitest.runTestSpecifications(specifications);
  const failed = modules.find((module) => !module.ok());
  const tests = failed && [...failed.children.allTests("failed")];
  return {
    isPassed: modules.length > 0 && failed === undefined && errors.length === 0,
    ran: modules.length,
    failed: failed?.moduleId,
    test: tests?.[0]?.fullName ?? failed?.errors()[0]?.message ?? (errors[0] && String(errors[0].message)),
  };
}
