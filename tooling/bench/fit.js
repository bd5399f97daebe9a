// Whole processes of `remat fit`: ResNet-50 on three devices with all batches up to 512 in four strategies, and a
// transformer of GPT-3's size on 64 to 1,024 ranks.
// Usage: node tooling/bench/fit.js
import { report } from "./src/report.js";
import { timeRemat } from "./src/run-remat.js";

const searches = [
  {
    what: "ResNet-50, 3 devices, batches to 512, 4 ways",
    args: ["examples/resnet50/model.js", "--optimizer", "adam", "--devices", "a100,h100,l4", "--batch", "1..512"],
    boundMs: 10_000,
  },
  {
    what: "GPT-3's size, 64 to 1,024 ranks, 2 ways to wrap, offloaded or not",
    args: [
      // Without checkpointing the baseline uses 4 TiB per sample. This much memory lets some batches fit.
      ...[
        "examples/gpt-3/model.js",
        "--optimizer",
        "adam",
        "--devices",
        "h100",
        "--batch",
        "1..16",
        "--memory",
        "20000GB",
      ],
      ...["--ranks", "64,128,256,512,1024", "--wrap", "*", "--wrap", "root", "--ways", "stock,offload"],
    ],
    boundMs: 20_000,
  },
];

for (const { what, args, boundMs } of searches) {
  const { wallMs, cpuMs, residentMiB, runs } = timeRemat(["fit", ...args, "--format", "json"], 1);
  report({ what: `remat fit: ${what}`, value: wallMs, cpu: cpuMs, unit: "ms", runs, bound: boundMs });
  report({ what: `remat fit: ${what}, resident`, value: residentMiB, unit: "MiB", runs });
}
