// `remat memory`: what is on the device at the peak, and who put it there. As a whole process, and the part of it after start-up, that is,
// once everything is imported. Usage: node tooling/bench/memory.js
import { report } from "./src/report.js";
import { timeRemat, timeRematAfterStart } from "./src/run-remat.js";

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
  const whole = timeRemat(["memory", ...args], 5);
  report({
    what: `remat memory of ${what}, whole process`,
    value: whole.wallMs,
    cpu: whole.cpuMs,
    unit: "ms",
    runs: whole.runs,
  });
  const answer = timeRematAfterStart(["memory", ...args], 5);
  report({
    what: "of that, after start-up",
    value: answer.wallMs,
    cpu: answer.cpuMs,
    unit: "ms",
    runs: answer.runs,
    bound: 1000,
  });
}
