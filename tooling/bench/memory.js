// `remat memory` as a whole process: what is on the device at the peak, and who put it there. Usage: node tooling/bench/memory.js
import { report } from "./src/report.js";
import { timeRemat } from "./src/run-remat.js";

const questions = {
  "ResNet-50, Adam": ["examples/resnet50/model.js", "--optimizer", "adam"],
  "transformer on 8 ranks, Adam": [
    "examples/transformer/model.js",
    "--optimizer",
    "adam",
    "--fsdp",
    "world=8,wrap='layers.*'",
  ],
};

for (const [what, args] of Object.entries(questions)) {
  const { wallMs, cpuMs, runs } = timeRemat(["memory", ...args], 5);
  // The bound is meant after start-up; here the start counts, too.
  report({ what: `remat memory of ${what}, whole process`, value: wallMs, cpu: cpuMs, unit: "ms", runs, bound: 1000 });
}
