import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProjectInlineConfiguration } from "vitest/config";
import { atNight } from "../src/at-night.js";
import { workspaceFolders } from "../workspace-folders.js";
import { mutantPlugins } from "./mutant.js";

/** Settings of the tests of one folder that differ from the others. */
interface Exceptions {
  /** File that prepares something for all test files, from the project's folder. */
  readonly globalSetup?: string;
  /** Replaces it for `*.e2e.test.ts`. */
  readonly e2eSetup?: string;
  /** File that runs before each test file, from the project's folder. */
  readonly setupFile?: string;
  /** True if tests import `@remat/*` as built, instead of from sources. */
  readonly isBuilt?: boolean;
  /**
   * True if each file gets its own process. Otherwise files share a process and its modules, since short tests spend
   * most of their time importing.
   */
  readonly isIsolated?: boolean;
}

const exceptions: Readonly<Record<string, Exceptions>> = {
  "apps/cli": { globalSetup: "test/setup.ts", setupFile: "test/bundled-processes.ts" },
  "apps/report": { globalSetup: "test/setup.ts", e2eSetup: "test/e2e-setup.ts", isIsolated: true },
  "packages/program": { e2eSetup: "test/e2e-setup.ts", isIsolated: true },
  "tooling/browser": { globalSetup: "test/setup.ts", isIsolated: true },
  "tooling/ci": { isBuilt: true, isIsolated: true },
  "tooling/fuzz": { globalSetup: "../../apps/report/test/setup.ts", isIsolated: true },
  "tooling/goldens": { isIsolated: true },
  "tooling/lint": { isBuilt: true, isIsolated: true },
  "tooling/packaging": { isBuilt: true, isIsolated: true },
  "tooling/testkit": { isIsolated: true },
  "tooling/tfjs-specs": { isBuilt: true, isIsolated: true },
};

/**
 * The kinds of test files, by the end of their names. `*.alone.test.ts` and `*.alone.e2e.test.ts` mock modules or need
 * a new process. `*.e2e.test.ts` starts processes, browsers, terminals or bundlers, needs the native backend, or runs whole
 * commands and searches that take minutes together. `pnpm test` leaves it to `pnpm test:all`. At night
 * (`REMAT_ALL_TESTS`) the same project also runs `*.night.test.ts`, which takes long and seldom finds anything.
 */
const kinds = [
  { suffix: "", end: ".test.ts", isIsolated: undefined },
  { suffix: ":alone", end: ".alone.test.ts", isIsolated: true },
  { suffix: ":e2e", end: ".e2e.test.ts", isIsolated: undefined },
  { suffix: ":alone:e2e", end: ".alone.e2e.test.ts", isIsolated: true },
] as const;
const nightEnd = ".night.test.ts";

/**
 * The vitest projects of the workspace: one for each folder with tests and each kind of test file in it. Named after
 * the folder: `memory`, `memory:alone`, `memory:e2e`.
 */
export function testProjects(root: string): TestProjectInlineConfiguration[] {
  return testFolders(root).flatMap((folder) => {
    const files = readdirSync(join(root, folder, "test"), { recursive: true, encoding: "utf8" });
    const name = folder.split("/").at(-1)!;
    return kinds.flatMap((kind) => {
      const others = [...kinds.map(({ end }) => end), nightEnd].filter(
        (end) => end !== kind.end && end.endsWith(kind.end),
      );
      if (!files.some((file) => file.endsWith(kind.end) && !others.some((end) => file.endsWith(end)))) return [];
      const options = exceptions[folder] ?? {};
      const isIsolated = kind.isIsolated ?? options.isIsolated ?? false;
      return [
        projectOf(
          join(root, folder),
          `${name}${kind.suffix}`,
          {
            ...options,
            isIsolated,
            ...(kind.end.includes("e2e") && options.e2eSetup !== undefined && { globalSetup: options.e2eSetup }),
          },
          kind.end,
          others,
        ),
      ];
    });
  });
}

const testFolders = (root: string): string[] =>
  [...workspaceFolders(root), "examples"].filter((folder) => existsSync(join(root, folder, "test")));

function projectOf(
  root: string,
  name: string,
  { globalSetup, setupFile, isBuilt = false, isIsolated = false }: Exceptions,
  end: string,
  others: readonly string[],
): TestProjectInlineConfiguration {
  const conditions = ["@remat/source"];
  const { REMAT_TFJS: tfjs } = process.env;
  return {
    root,
    ...mutantPlugins(),
    ...(!isBuilt && {
      resolve: { conditions, ...(tfjs !== undefined && { alias: otherTfjs(tfjs) }) },
      ssr: { resolve: { conditions, externalConditions: conditions } },
    }),
    test: {
      name,
      include: [`test/**/*${end}`, ...(atNight && end === ".e2e.test.ts" ? [`test/**/*${nightEnd}`] : [])],
      exclude: ["**/node_modules/**", ...others.map((other) => `**/*${other}`)],
      setupFiles: [
        beside("seed.ts"),
        ...(isIsolated ? [] : [beside("leave-engine.ts")]),
        ...(setupFile === undefined ? [] : [setupFile]),
      ],
      isolate: isIsolated,
      // A larger young generation saves a tenth of the time: traces consist of many objects that survive a minor
      // collection.
      execArgv: ["--max-semi-space-size=64"],
      ...(globalSetup !== undefined && { globalSetup }),
      // Ends tests that hang. Speed is measured by benchmarks, so no test has a shorter limit of its own.
      testTimeout: 600_000,
      hookTimeout: 600_000,
    },
  };
}

const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/**
 * Redirects imports of TensorFlow.js to the release installed in `folder`, in tests and in the sources that they test.
 */
function otherTfjs(folder: string): { find: RegExp; replacement: string }[] {
  const { resolve } = createRequire(join(folder, "package.json"));
  return ["tfjs", "tfjs-core", "tfjs-layers", "tfjs-backend-cpu", "tfjs-backend-wasm"].map((name) => ({
    find: new RegExp(`^@tensorflow/${name}$`),
    replacement: resolve(`@tensorflow/${name}`),
  }));
}
