import type { CommandEntry } from "../command.js";

/** All commands, in the order in which help lists them. To add one, add its file and a line here. */
export const commands: readonly CommandEntry[] = [
  {
    usage: "estimate <model>",
    purpose: "What a training step holds at its peak, whether that fits, and what less would cost",
    load: async () => (await import("./estimate.js")).estimateCommand,
  },
  {
    usage: "memory <model>",
    purpose: "What is on the device at the peak, and who put it there",
    load: async () => (await import("./memory.js")).memoryCommand,
  },
  {
    usage: "plan <model>",
    purpose: "What to keep and what to recompute, so that a step fits a memory budget",
    load: async () => (await import("./plan.js")).planCommand,
  },
  {
    usage: "fit [models...]",
    purpose: "The largest batch, and the best way to train, on the devices at hand",
    load: async () => (await import("./fit.js")).fitCommand,
  },
  {
    usage: "check <models...>",
    purpose: "Whether steps hold more than they did: exits 1, and says what grew",
    load: async () => (await import("./check.js")).checkCommand,
  },
  {
    usage: "compare <model>",
    purpose: "What a rank of many would hold and receive, under several sharding plans side by side",
    load: async () => (await import("./compare.js")).compareCommand,
  },
  {
    usage: "extrapolate <runs...>",
    purpose: "What a step would hold at another length or batch than it was recorded at",
    load: async () => (await import("./extrapolate.js")).extrapolateCommand,
  },
  {
    usage: "report [model]",
    purpose: "One HTML file: where memory goes, and what it would cost to spend less",
    load: async () => (await import("./report.js")).reportCommand,
  },
  {
    usage: "setup <what>",
    purpose: "Build TensorFlow's native backend for this machine: remat setup native",
    load: async () => (await import("./setup.js")).setupCommand,
  },
  {
    usage: "doctor",
    purpose: "Which backends work here, and what to do about those that do not",
    load: async () => (await import("./doctor.js")).doctorCommand,
  },
  {
    usage: "run <model>",
    purpose: "Train for a few steps within a memory budget: predicted beside measured",
    load: async () => (await import("./run.js")).runCommand,
  },
  {
    usage: "record [program...]",
    purpose: "Run a program that trains, as it is, and record its first steps: remat record -- node train.js",
    load: async () => (await import("./record.js")).recordCommand,
  },
  {
    usage: "watch [program...]",
    purpose: "Show live what a program that trains holds, step by step: remat watch -- node train.js",
    load: async () => (await import("./watch.js")).watchCommand,
  },
  {
    usage: "exec [program...]",
    purpose: "Run a program that trains, as it is, in less memory: remat exec --budget 2GB -- node train.js",
    load: async () => (await import("./exec.js")).execCommand,
  },
  {
    usage: "leaks [program...]",
    purpose: "Name the lines whose tensors outlive their step: remat leaks -- node app.js, or remat leaks TRACE",
    load: async () => (await import("./leaks.js")).leaksCommand,
  },
  {
    usage: "explain <log> [trace]",
    purpose: "Why TensorFlow's or PyTorch's allocator had no memory left, by its log: remat explain oom.log",
    load: async () => (await import("./explain.js")).explainCommand,
  },
  {
    usage: "ui [targets...]",
    purpose: "Explore a model, a trace or a plan in the terminal; two are compared",
    load: async () => (await import("./ui.js")).uiCommand,
  },
  {
    usage: "completion <shell>",
    purpose: "A script that has a shell complete remat's commands and options: bash, zsh or fish",
    load: async () => (await import("./completion.js")).completionOf(commands),
  },
  {
    usage: "version",
    purpose: "Print the version",
    load: async () => (await import("./version.js")).versionCommand,
  },
];
