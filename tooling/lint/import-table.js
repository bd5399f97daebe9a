/**
 * @typedef {object} ImportRules
 * @property {boolean} pure uses neither tfjs nor Node, so it runs in a browser
 * @property {readonly string[]} imports
 * @property {readonly (readonly string[])[]} [floors] folders of `src` from the bottom up, those of one floor in one
 * list: a file imports from its own folder and from lower floors. `.` stands for all other folders and the files of
 * `src` itself; without it, they are above all floors.
 */

/**
 * Allowed imports of each package and each app, as in the tables of ARCHITECTURE.md. A test compares them. A folder
 * with its own entry (a second entry point, the page of the report) has its own rules.
 *
 * @type {Readonly<Record<string, ImportRules>>}
 */
export const importTable = {
  trace: { pure: true, imports: [] },
  "trace/files": { pure: false, imports: [] },
  pytorch: { pure: true, imports: ["trace"] },
  "dispatch-hook": { pure: false, imports: ["trace"], floors: [["kernels"], ["backends"], ["."], ["fake"]] },
  "mod-tracker": { pure: false, imports: ["trace", "dispatch-hook"] },
  tracer: { pure: false, imports: ["trace", "dispatch-hook", "mod-tracker"] },
  "keras-loader": { pure: false, imports: ["trace"] },
  "runtime-estimator": { pure: true, imports: ["trace"] },
  "runtime-estimator/benchmark": { pure: false, imports: ["trace", "dispatch-hook"] },
  "runtime-estimator/calibrate": {
    pure: false,
    imports: ["trace", "dispatch-hook", "tracer", "runtime-estimator/benchmark"],
  },
  "runtime-estimator/step": { pure: false, imports: ["trace", "tracer", "runtime-estimator/benchmark"] },
  memory: { pure: true, imports: ["trace"] },
  "sac-core": { pure: true, imports: ["trace", "memory"] },
  "sac-core/estimator": {
    pure: false,
    imports: [
      "trace",
      "trace/files",
      "dispatch-hook",
      "mod-tracker",
      "tracer",
      "runtime-estimator",
      "runtime-estimator/step",
    ],
  },
  sharding: { pure: true, imports: ["trace", "memory", "runtime-estimator/aten"] },
  "sharding/compare": { pure: true, imports: ["trace", "memory", "runtime-estimator"] },
  planner: { pure: true, imports: ["trace", "memory", "sac-core", "runtime-estimator", "sharding"] },
  "planner/node": { pure: false, imports: ["trace"] },
  checkpoint: {
    pure: false,
    imports: ["trace", "memory", "dispatch-hook", "mod-tracker", "tracer", "runtime-estimator", "planner"],
  },
  "checkpoint/predict": {
    pure: false,
    imports: [
      "trace",
      "memory",
      "dispatch-hook",
      "tracer",
      "runtime-estimator",
      "runtime-estimator/benchmark",
      "planner",
    ],
  },
  leaks: { pure: false, imports: ["trace", "memory", "dispatch-hook"] },
  program: {
    pure: false,
    imports: [
      "trace",
      "memory",
      "dispatch-hook",
      "mod-tracker",
      "tracer",
      "runtime-estimator",
      "runtime-estimator/benchmark",
      "sac-core",
      "sharding",
      "leaks",
      "planner",
      "checkpoint",
      "checkpoint/predict",
    ],
  },
  reporting: {
    pure: true,
    imports: ["trace", "memory", "sac-core", "runtime-estimator", "sharding", "sharding/compare"],
  },
  "reporting/ways-to-fit": {
    pure: true,
    imports: ["trace", "memory", "runtime-estimator", "sharding", "planner"],
  },
  fit: {
    pure: true,
    imports: [
      "trace",
      "memory",
      "runtime-estimator",
      "sharding",
      "sharding/compare",
      "planner",
      "reporting",
      "reporting/ways-to-fit",
    ],
  },
  "fit/node": { pure: false, imports: ["trace", "trace/files", "runtime-estimator"] },
  "fit/bullmq": { pure: false, imports: ["trace", "fit/node"] },
  remat: {
    pure: false,
    imports: [
      "trace",
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
  "remat/panel": { pure: false, imports: ["trace", "dispatch-hook", "tracer", "memory", "checkpoint", "reporting"] },
  cli: {
    pure: false,
    imports: [
      "trace",
      "trace/files",
      "pytorch",
      "dispatch-hook",
      "tracer",
      "keras-loader",
      "runtime-estimator",
      "runtime-estimator/benchmark",
      "runtime-estimator/calibrate",
      "runtime-estimator/step",
      "sac-core/estimator",
      "memory",
      "sharding",
      "sharding/compare",
      "planner",
      "planner/node",
      "checkpoint",
      "checkpoint/predict",
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
    imports: ["trace", "sac-core", "memory", "sharding", "planner", "reporting", "fit"],
    floors: [["data"], ["make", "html"]],
  },
  "report/data": { pure: true, imports: ["trace", "reporting"] },
  "report/page": { pure: true, imports: ["trace", "sac-core", "memory", "planner", "reporting"] },
  terminal: {
    pure: false,
    imports: [
      "trace",
      "trace/files",
      "runtime-estimator",
      "sac-core",
      "memory",
      "sharding",
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
 * Entry points allowed together with their package.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const alsoAllowed = {
  checkpoint: ["checkpoint/release"],
  cli: ["cli/main"],
  "dispatch-hook": [
    "dispatch-hook/backends",
    "dispatch-hook/backends/node",
    "dispatch-hook/engine",
    "dispatch-hook/fake",
    "dispatch-hook/kernels",
    "dispatch-hook/release",
    "dispatch-hook/residency",
    "dispatch-hook/tensors",
  ],
  memory: [
    "checkpointing",
    "extrapolation",
    "failure",
    "graph",
    "growth",
    "regions",
    "reserved",
    "sequence",
    "tracker",
  ].map((folder) => `memory/${folder}`),
  planner: ["executors", "graph", "knapsack", "methods", "module-policy", "module-tree", "sharding"].map(
    (folder) => `planner/${folder}`,
  ),
  reporting: ["answers", "baseline", "documents", "formats", "held-tree", "sharding", "verdict"].map(
    (folder) => `reporting/${folder}`,
  ),
  "runtime-estimator": ["runtime-estimator/aten"],
  trace: ["trace/arrow", "trace/emit", "trace/text"],
  tracer: ["tracer/step"],
  "keras-loader": ["keras-loader/weights"],
};

/** The folder of a package or an app, from the root of the workspace. */
export function packageFolder(name) {
  return `${apps.has(name) ? "apps" : "packages"}/${name}`;
}

/** The folder of the sources that an entry of the table applies to, from the root of the workspace. */
export function sourceFolder(entry) {
  const [name, folder] = entry.split("/");
  if (folder === "page") return `${packageFolder(name)}/page/`;
  return `${packageFolder(name)}/src/${folder === undefined ? "" : `${folder}/`}`;
}

/**
 * The entry of the table that applies to a file, by the file's path from the root of the workspace, or undefined for
 * tests and files other than sources.
 */
export function entryOf(path) {
  const match = /^(?:packages|apps)\/([^/]+)\/(?:(page)\/|src\/(?:([^/]+)\/)?)/.exec(path);
  if (match === null) return undefined;
  const [, name, page, folder = page] = match;
  return folder !== undefined && Object.hasOwn(importTable, `${name}/${folder}`) ? `${name}/${folder}` : name;
}
