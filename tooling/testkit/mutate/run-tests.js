// Runs test files in the order given until one fails, and writes the result as JSON to file descriptor 3. Started by
// mutate.js, with REMAT_MUTANT in its environment.
import { writeSync } from "node:fs";
import { BaseSequencer, startVitest } from "vitest/node";

const { root, projects, files } = JSON.parse(process.argv[2]);
const places = new Map(files.map((file, i) => [file, i]));

class NearestFirst extends BaseSequencer {
  async sort(specifications) {
    return specifications.toSorted((a, b) => places.get(a.moduleId) - places.get(b.moduleId));
  }
}

const vitest = await startVitest("test", files, {
  root,
  project: projects,
  run: true,
  watch: false,
  bail: 1,
  maxWorkers: 1,
  reporters: [{}],
  sequence: { sequencer: NearestFirst },
  passWithNoTests: false,
});
const modules = vitest.state.getTestModules();
const failed = modules.find((module) => !module.ok());
const errors = vitest.state.getUnhandledErrors();
const tests = failed && [...failed.children.allTests("failed")];
writeSync(
  3,
  JSON.stringify({
    isPassed: modules.length > 0 && failed === undefined && errors.length === 0,
    ran: modules.length,
    failed: failed?.moduleId,
    test: tests?.[0]?.fullName ?? failed?.errors()[0]?.message ?? (errors[0] && String(errors[0].message)),
  }),
);
await vitest.close();
process.exit(0);
