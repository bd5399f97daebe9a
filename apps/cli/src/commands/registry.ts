import type { CommandEntry } from "../command.js";

/** All commands, in the order in which help lists them. To add one, add its file and a line here. */
export const commands: readonly CommandEntry[] = [
  {
    usage: "estimate <model>",
    purpose: "Estimate the peak memory of a training step, whether it fits, and what using less costs",
    load: async () => (await import("./estimate.js")).estimateCommand,
  },
  {
    usage: "memory <model>",
    purpose: "Show the live tensors at the peak, and where they were allocated",
    load: async () => (await import("./memory.js")).memoryCommand,
  },
  {
    usage: "plan <model>",
    purpose: "Plan what to save and what to recompute, so that a step fits a memory budget",
    load: async () => (await import("./plan.js")).planCommand,
  },
  {
    usage: "fit [models...]",
    purpose: "Find the largest batch and the best training strategy for your devices",
    load: async () => (await import("./fit.js")).fitCommand,
  },
  {
    usage: "check <models...>",
    purpose: "Compare peak memory with a baseline, show what grew, and exit with 1 if the peak is above the limit",
    load: async () => (await import("./check.js")).checkCommand,
  },
  {
    usage: "compare <model>",
    purpose: "Compare the peak memory and communication of a rank under several sharding plans",
    load: async () => (await import("./compare.js")).compareCommand,
  },
  {
    usage: "extrapolate <runs...>",
    purpose: "Predict peak memory at other sequence lengths or batch sizes from recorded runs",
    load: async () => (await import("./extrapolate.js")).extrapolateCommand,
  },
  {
    usage: "report [model]",
    purpose: "Write an HTML report: where memory goes, and what using less costs",
    load: async () => (await import("./report.js")).reportCommand,
  },
  {
    usage: "setup <what>",
    purpose: "Build the native backend of TensorFlow for this machine: remat setup native",
    load: async () => (await import("./setup.js")).setupCommand,
  },
  {
    usage: "doctor",
    purpose: "Show which backends work here, and how to fix those that do not",
    load: async () => (await import("./doctor.js")).doctorCommand,
  },
  {
    usage: "calibrate",
    purpose: "Measure this machine, so that estimated times for --device here can be trusted",
    load: async () => (await import("./calibrate.js")).calibrateCommand,
  },
  {
    usage: "run <model>",
    purpose: "Train for a few steps within a memory budget, and compare predicted with measured memory",
    load: async () => (await import("./run.js")).runCommand,
  },
  {
    usage: "record [program...]",
    shownArguments: "-- <program> [args]",
    purpose: "Run an unmodified TensorFlow.js program and record its first training steps",
    load: async () => (await import("./record.js")).recordCommand,
  },
  {
    usage: "watch [program...]",
    shownArguments: "-- <program> [args]",
    purpose: "Show the memory of a TensorFlow.js program live, step by step",
    load: async () => (await import("./watch.js")).watchCommand,
  },
  {
    usage: "exec [program...]",
    shownArguments: "-- <program> [args]",
    purpose: "Run an unmodified TensorFlow.js program in less memory",
    load: async () => (await import("./exec.js")).execCommand,
  },
  {
    usage: "leaks [program...]",
    shownArguments: "<trace | -- program>",
    purpose: "Find the lines of code that leak tensors, in a TensorFlow.js program or a trace",
    load: async () => (await import("./leaks.js")).leaksCommand,
  },
  {
    usage: "explain <log> [trace]",
    purpose: "Explain why a program ran out of memory, from its log",
    load: async () => (await import("./explain.js")).explainCommand,
  },
  {
    usage: "ui [targets...]",
    purpose: "Explore a model, a trace or a plan in the terminal, or compare two of them",
    load: async () => (await import("./ui.js")).uiCommand,
  },
  {
    usage: "completion <shell>",
    purpose: "Print a script that completes commands and options in bash, zsh or fish",
    load: async () => (await import("./completion.js")).completionOf(commands),
  },
  {
    usage: "version",
    purpose: "Print the version",
    load: async () => (await import("./version.js")).versionCommand,
  },
];
