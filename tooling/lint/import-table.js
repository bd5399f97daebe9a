/**
 * @typedef {object} ImportRules
 * @property {boolean} pure sees neither tfjs nor Node, so it runs in a browser
 * @property {readonly string[]} imports
 * @property {readonly (readonly string[])[]} [floors] folders of `src` from below, those of one floor in one list: a file imports from
 *   its own folder and from lower floors. A file that is in none of them stands above all.
 */

/**
 * What each package and each app may import: the tables in ARCHITECTURE.md, which a test compares with this one. A folder that has an entry of its
 * own (a second entry point, the page of the report) has its own rules.
 *
 * @type {Readonly<Record<string, ImportRules>>}
 */
export const importTable = {
  trace: { pure: true, imports: [] },
  "text-table": { pure: true, imports: ["trace"] },
  "output-file": { pure: false, imports: [] },
  pytorch: { pure: true, imports: ["trace"] },
  kernels: { pure: false, imports: ["trace"] },
  backends: { pure: false, imports: ["trace", "kernels"] },
  "dispatch-hook": { pure: false, imports: ["trace", "kernels", "backends"] },
  fake: { pure: false, imports: ["trace", "kernels", "backends", "dispatch-hook"] },
  "mod-tracker": { pure: false, imports: ["trace", "dispatch-hook"] },
  tracer: { pure: false, imports: ["trace", "kernels", "backends", "dispatch-hook", "fake", "mod-tracker"] },
  "keras-loader": { pure: false, imports: ["trace"] },
  "runtime-estimator": { pure: true, imports: ["trace"] },
  "runtime-estimator/benchmark": { pure: false, imports: ["trace", "text-table", "backends"] },
  "sac-core": { pure: true, imports: ["trace", "text-table", "memory"] },
  "sac-estimator": {
    pure: false,
    imports: [
      "trace",
      "text-table",
      "output-file",
      "pytorch",
      "kernels",
      "backends",
      "dispatch-hook",
      "fake",
      "mod-tracker",
      "tracer",
      "keras-loader",
      "runtime-estimator",
      "runtime-estimator/benchmark",
      "sac-core",
    ],
  },
  "mem-tracker": { pure: true, imports: ["trace", "text-table", "memory"] },
  memory: { pure: true, imports: ["trace"] },
  planner: { pure: true, imports: ["trace", "text-table", "runtime-estimator", "sac-core", "memory", "mem-tracker"] },
  "planner/node": { pure: false, imports: ["trace"] },
  checkpoint: {
    pure: false,
    imports: [
      "trace",
      "text-table",
      "memory",
      "kernels",
      "backends",
      "dispatch-hook",
      "fake",
      "mod-tracker",
      "tracer",
      "runtime-estimator",
      "planner",
    ],
  },
  "checkpoint/predict": {
    pure: false,
    imports: [
      "trace",
      "memory",
      "backends",
      "dispatch-hook",
      "tracer",
      "runtime-estimator",
      "runtime-estimator/benchmark",
      "planner",
    ],
  },
  "native-backend": { pure: false, imports: ["trace", "backends"] },
  leaks: { pure: false, imports: ["trace", "text-table", "memory", "dispatch-hook"] },
  program: {
    pure: false,
    imports: [
      "trace",
      "text-table",
      "memory",
      "kernels",
      "backends",
      "dispatch-hook",
      "fake",
      "mod-tracker",
      "tracer",
      "runtime-estimator",
      "runtime-estimator/benchmark",
      "sac-core",
      "mem-tracker",
      "leaks",
      "planner",
      "checkpoint",
      "checkpoint/predict",
    ],
  },
  reporting: { pure: true, imports: ["trace", "text-table", "memory", "sac-core", "runtime-estimator", "mem-tracker"] },
  panel: {
    pure: false,
    imports: ["trace", "memory", "reporting", "dispatch-hook", "tracer", "checkpoint"],
  },
  "reporting/ways-to-fit": {
    pure: true,
    imports: ["trace", "text-table", "memory", "sac-core", "runtime-estimator", "mem-tracker", "planner"],
  },
  fit: {
    pure: true,
    imports: [
      "trace",
      "text-table",
      "memory",
      "sac-core",
      "runtime-estimator",
      "mem-tracker",
      "planner",
      "reporting",
      "reporting/ways-to-fit",
    ],
  },
  "fit/node": {
    pure: false,
    imports: [
      "trace",
      "text-table",
      "memory",
      "sac-core",
      "runtime-estimator",
      "mem-tracker",
      "planner",
      "reporting",
      "reporting/ways-to-fit",
      "output-file",
    ],
  },
  "fit/bullmq": {
    pure: false,
    imports: [
      "trace",
      "text-table",
      "memory",
      "sac-core",
      "runtime-estimator",
      "mem-tracker",
      "planner",
      "reporting",
      "reporting/ways-to-fit",
      "output-file",
      "fit/node",
    ],
  },
  remat: {
    pure: false,
    imports: [
      "trace",
      "backends",
      "dispatch-hook",
      "mod-tracker",
      "tracer",
      "runtime-estimator",
      "memory",
      "planner",
      "checkpoint",
      "cli",
    ],
  },
  cli: {
    pure: false,
    imports: [
      "trace",
      "text-table",
      "output-file",
      "pytorch",
      "backends",
      "dispatch-hook",
      "tracer",
      "keras-loader",
      "runtime-estimator",
      "runtime-estimator/benchmark",
      "sac-core",
      "sac-estimator",
      "memory",
      "mem-tracker",
      "planner",
      "planner/node",
      "checkpoint",
      "checkpoint/predict",
      "native-backend",
      "leaks",
      "program",
      "reporting",
      "reporting/ways-to-fit",
      "fit",
      "fit/node",
      "fit/bullmq",
      "report",
      "terminal",
    ],
  },
  report: {
    pure: false,
    imports: ["trace", "sac-core", "memory", "mem-tracker", "planner", "reporting", "fit"],
    floors: [["data"], ["make", "html"]],
  },
  "report/data": { pure: true, imports: ["trace", "sac-core", "memory", "mem-tracker", "planner", "reporting"] },
  "report/page": { pure: true, imports: ["trace", "sac-core", "memory", "mem-tracker", "planner", "reporting"] },
  terminal: {
    pure: false,
    imports: [
      "trace",
      "text-table",
      "output-file",
      "runtime-estimator",
      "sac-core",
      "memory",
      "mem-tracker",
      "planner",
      "reporting",
      "fit",
    ],
    floors: [
      ["text", "terminal"],
      ["table", "document"],
      ["drawing", "state"],
      ["views", "screen", "files"],
      ["reduce"],
      ["app"],
    ],
  },
};

const apps = new Set(["cli", "report", "terminal"]);

/**
 * Entry points that go with the package they are of.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const alsoAllowed = {
  backends: ["backends/node"],
  checkpoint: ["checkpoint/release"],
  cli: ["cli/main"],
  "dispatch-hook": [
    "dispatch-hook/engine",
    "dispatch-hook/release",
    "dispatch-hook/residency",
    "dispatch-hook/tensors",
  ],
  "mem-tracker": ["mem-tracker/fsdp"],
  memory: ["memory/checkpointing", "memory/failure", "memory/graph", "memory/growth", "memory/reserved"],
  planner: ["planner/sharding"],
  reporting: ["reporting/sharding"],
  trace: ["trace/emit"],
  tracer: ["tracer/step"],
  "keras-loader": ["keras-loader/weights"],
};

/** The folder of a package or an app, from the root of the workspace. */
export function packageFolder(name) {
  return `${apps.has(name) ? "apps" : "packages"}/${name}`;
}

/** The folder of the sources that an entry of the table rules, from the root of the workspace. */
export function sourceFolder(entry) {
  const [name, folder] = entry.split("/");
  if (folder === "page") return `${packageFolder(name)}/page/`;
  return `${packageFolder(name)}/src/${folder === undefined ? "" : `${folder}/`}`;
}

/** The entry of the table that rules a file, by the file's path from the root of the workspace; undefined for tests and what is no source. */
export function entryOf(path) {
  const match = /^(?:packages|apps)\/([^/]+)\/(?:(page)\/|src\/(?:([^/]+)\/)?)/.exec(path);
  if (match === null) return undefined;
  const [, name, page, folder = page] = match;
  return folder !== undefined && Object.hasOwn(importTable, `${name}/${folder}`) ? `${name}/${folder}` : name;
}
