/**
 * What each package may import: the table in ARCHITECTURE.md, which a test compares with this one. `pure` code sees neither tfjs nor Node,
 * so it runs in a browser. A folder within a package that has an entry of its own (a second entry point) has its own rules.
 *
 * @type {Readonly<Record<string, { readonly pure: boolean, readonly imports: readonly string[] }>>}
 */
export const importTable = {
  trace: { pure: true, imports: [] },
  "text-table": { pure: true, imports: [] },
  "output-file": { pure: false, imports: [] },
  pytorch: { pure: true, imports: ["trace"] },
  kernels: { pure: false, imports: ["trace"] },
  backends: { pure: false, imports: ["trace", "kernels"] },
  "dispatch-hook": { pure: false, imports: ["trace", "kernels", "backends"] },
  fake: { pure: false, imports: ["trace", "kernels", "backends", "dispatch-hook"] },
  "mod-tracker": { pure: false, imports: ["trace", "dispatch-hook"] },
  tracer: { pure: false, imports: ["trace", "kernels", "dispatch-hook", "fake", "mod-tracker"] },
  "keras-loader": { pure: false, imports: ["trace"] },
  "runtime-estimator": { pure: true, imports: ["trace"] },
  "runtime-estimator/benchmark": { pure: false, imports: ["trace", "dispatch-hook"] },
  "sac-core": { pure: true, imports: ["trace", "text-table"] },
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
  "mem-tracker": { pure: true, imports: ["trace", "text-table"] },
  memory: { pure: true, imports: ["trace"] },
  planner: { pure: true, imports: ["trace", "sac-core", "memory"] },
  "planner/node": { pure: false, imports: ["trace"] },
  checkpoint: {
    pure: false,
    imports: [
      "trace",
      "text-table",
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
  "native-backend": { pure: false, imports: ["trace", "backends"] },
  reporting: { pure: true, imports: ["trace", "text-table", "sac-core", "runtime-estimator", "mem-tracker"] },
};

/**
 * Entry points that go with the package they are of.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const alsoAllowed = {
  backends: ["backends/node"],
  "dispatch-hook": ["dispatch-hook/engine", "dispatch-hook/release", "dispatch-hook/residency"],
  "mem-tracker": ["mem-tracker/fsdp"],
  memory: ["memory/graph"],
};

/** The entry of the table that rules a file, by the file's path from the root of the workspace; undefined for tests and apps. */
export function entryOf(path) {
  const match = /^packages\/([^/]+)\/src\/(?:([^/]+)\/)?/.exec(path);
  if (match === null) return undefined;
  const [, name, folder] = match;
  return folder !== undefined && Object.hasOwn(importTable, `${name}/${folder}`) ? `${name}/${folder}` : name;
}
