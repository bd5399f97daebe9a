// Runs in the child: all specs in the mode named by the first argument. The result is written as JSON to the file named
// by the second.
import "./jasmine-globals.js";
import "specs:backend";
import "specs:all";
import { writeFileSync } from "node:fs";
import { Rejections } from "../rejections.js";
import { installMode } from "./install-mode.js";
import { runningSpec } from "./running-spec.js";

const [modeName, outFile] = process.argv.slice(2);
/** Specs by jasmine's id, in the order in which they first ran. */
const specs = new Map();
const errors = [];
const rejections = new Rejections(specs);
const messagesOf = (failures) => failures.map(({ message }) => message);
const noteErrors = (name, failures) => {
  for (const message of rejections.own(messagesOf(failures))) errors.push({ name, message });
};
const noteRejection = (error) => {
  const id = runningSpec.ofWork.getStore();
  if (id !== undefined) rejections.note(id, error);
};
/** Jasmine replaces all listeners by its own each time it begins. */
const listenToRejections = () => {
  if (!process.listeners("unhandledRejection").includes(noteRejection))
    process.prependListener("unhandledRejection", noteRejection);
};
/**
 * Number of turns of the event loop to wait after the last spec. Work that a spec has left behind is rejected within
 * fewer.
 */
const turnsAfter = 50;
const run = async (ids) => {
  await env.execute(ids);
  listenToRejections();
  for (let turn = 0; turn < turnsAfter; turn++) await new Promise((resolve) => setImmediate(resolve));
};
const env = globalThis.jasmine.getEnv();
const mode = installMode(modeName);
env.addReporter({
  specStarted: ({ id }) => {
    runningSpec.id = id;
    listenToRejections();
    mode.specStarted?.(id);
  },
  specDone: ({ id, fullName, status, failedExpectations }) => {
    // For specs that a mode does not run again, the earlier outcome counts.
    if (status === "excluded" && specs.has(id)) return;
    const messages = rejections.own(messagesOf(failedExpectations), id);
    const isCleared = status === "failed" && messages.length === 0;
    specs.set(id, { name: fullName, status: isCleared ? "passed" : status, messages });
  },
  suiteDone: ({ fullName, failedExpectations }) => noteErrors(fullName, failedExpectations),
  jasmineDone: ({ failedExpectations }) => noteErrors("outside of all suites", failedExpectations),
});
await run();
for (let ids = await mode.again?.(specs); ids?.length > 0; ids = await mode.again(specs)) await run(ids);
writeFileSync(outFile, JSON.stringify({ specs: [...specs.values()], errors, work: mode.work() }));
// Specs leave timers and workers behind.
process.exit(0);
