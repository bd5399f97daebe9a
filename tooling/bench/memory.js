// `remat memory`: memory on the device at the peak, and its allocation sites. Measures the whole process, and the part
// after all imports.
// Usage: node tooling/bench/memory.js
import { report } from "./src/report.js";
import { timeRemat, timeRematAfterStart } from "./src/run-remat.js";
import { timeTorchMemTracker } from "./src/torch.js";

const transformer = ["examples/transformer/model.js", "--optimizer", "adam"];
const questions = [
  { of: "ResNet-50, Adam", args: ["examples/resnet50/model.js", "--optimizer", "adam"] },
  { of: "transformer, Adam", args: transformer, torch: "sac_02_transformer", wholeMs: 450 },
  // PyTorch would have to run all ranks.
  { of: "transformer on 8 ranks, Adam", args: [...transformer, "--fsdp", "world=8,wrap='layers.*'"] },
];

for (const { of, args, torch, wholeMs } of questions) {
  const theirs = torch === undefined ? undefined : timeTorchMemTracker(torch);
  const row = ({ wallMs, cpuMs, runs }) => ({ value: wallMs, cpu: cpuMs, unit: "ms", runs });
  const whole = timeRemat(["memory", ...args], 5);
  report({ what: `remat memory, ${of}: whole process`, ...row(whole), theirs: theirs?.coldMs, bound: wholeMs });
  const answer = timeRematAfterStart(["memory", ...args], 5);
  report({ what: `remat memory, ${of}: after start-up`, ...row(answer), theirs: theirs?.afterStartMs, bound: 1000 });
}
