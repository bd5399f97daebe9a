// Cost of the hook: a step of the transformer in fake mode before any mode was opened, between modes, with an open mode
// that listens to nothing, recorded, and recorded with modules. In fake mode the kernels cost nothing.
// Usage: node tooling/bench/hook.js
import { withDispatchMode } from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { ModTracker } from "@remat/mod-tracker";
import { TraceRecorder, tfNamespace } from "@remat/tracer";
import build from "../../examples/transformer/model.js";
import { median, timeOnce } from "./src/measure.js";
import { report } from "./src/report.js";

const rounds = 60;
const boundUsPerOp = 2.5;

const tf = tfNamespace();
let tracker;
const times = { untouched: [], closed: [], idle: [], watched: [], recorded: [], tracked: [] };
let ops = 0;

await fakeMode(
  async () => {
    const { forward, parameters, buffers, inputs } = build({
      tf,
      size: "full",
      scope: (name, run) => (tracker === undefined ? run() : tracker.scope(name, run)),
    });
    const weights = Object.values(parameters);
    const step = () => tf.dispose(tf.variableGrads(() => tf.sum(forward(inputs, { training: true })), weights));
    const steps = {
      closed: step,
      idle: () => withDispatchMode({}, step),
      watched: () => withDispatchMode({ opDone() {} }, step),
      recorded: () => withDispatchMode(new TraceRecorder(), step),
      tracked: () => {
        tracker = new ModTracker({ recorder: new TraceRecorder() });
        tracker.own(parameters, buffers);
        tracker.run(step);
        tracker.close();
        tracker = undefined;
      },
    };
    for (let round = 0; round < rounds; round++) times.untouched.push(await timeOnce(step));
    withDispatchMode({ opDone: () => ops++ }, step);
    // In turns, so that other work on the machine slows all of them equally.
    for (let round = 0; round < rounds; round++)
      for (const name of Object.keys(steps)) times[name].push(await timeOnce(steps[name]));
  },
  { backend: "tensorflow" },
);

const warm = (name, measure) => median(times[name].slice(rounds / 2).map((time) => time[measure]));
const usPerOp = (name, measure) => ((warm(name, measure) - warm("closed", measure)) * 1000) / ops;
for (const [name, what] of [
  ["untouched", "no mode opened yet"],
  ["closed", "all modes closed"],
])
  report({
    what: `fake step of ${ops} ops, ${what}`,
    value: warm(name, "wallMs"),
    cpu: warm(name, "cpuMs"),
    unit: "ms",
    runs: rounds / 2,
  });
for (const [name, what] of [
  ["idle", "a mode that listens to nothing"],
  ["watched", "a mode that listens to ops"],
  ["recorded", "the recorder"],
  ["tracked", "the recorder and a module tracker"],
])
  report({
    what: `hook: over that step, with ${what} open`,
    value: usPerOp(name, "wallMs"),
    cpu: usPerOp(name, "cpuMs"),
    unit: "µs per op",
    runs: rounds / 2,
    ...(name === "recorded" && { bound: boundUsPerOp }),
  });
