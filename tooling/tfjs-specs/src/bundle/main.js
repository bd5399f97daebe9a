// What runs in the child: all specs in the mode named by the first argument; what came of them goes as JSON to the file named by the second.
import "./jasmine-globals.js";
import "specs:backend";
import "specs:all";
import { writeFileSync } from "node:fs";
import { installMode } from "./install-mode.js";

const [mode, outFile] = process.argv.slice(2);
const specs = [];
const errors = [];
const noteErrors = (name, failures) => {
  for (const { message } of failures) errors.push({ name, message });
};
const env = globalThis.jasmine.getEnv();
env.configure({ random: false });
env.addReporter({
  specDone: ({ fullName, status, failedExpectations }) =>
    specs.push({ name: fullName, status, messages: failedExpectations.map(({ message }) => message) }),
  suiteDone: ({ fullName, failedExpectations }) => noteErrors(fullName, failedExpectations),
  jasmineDone: ({ failedExpectations }) => noteErrors("outside of all suites", failedExpectations),
});
const workOf = installMode(mode);
await env.execute();
writeFileSync(outFile, JSON.stringify({ specs, errors, work: workOf() }));
// Specs leave timers and workers behind.
process.exit(0);
