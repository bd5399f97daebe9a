import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineProject, type UserWorkspaceConfig } from "vitest/config";

/** What a project's tests may say of themselves besides their name. */
export interface ProjectOptions {
  /** File that prepares what all of the project's tests need, from the project's folder. */
  readonly globalSetup?: string;
  /** Take `@remat/*` as built, instead of from their sources. */
  readonly isBuilt?: boolean;
  /** File that runs before each test file, from the project's folder. */
  readonly setupFile?: string;
  /**
   * Whether its files share a process and its modules, which most of the time of short ones went into importing, file by file. What a file changes of them it changes back; one that
   * mocks modules or needs a process that is new is called `*.alone.test.ts`, and runs in the project `alone`. A file fails that leaves tfjs's engine hooked or in a scope.
   */
  readonly sharesProcess?: boolean;
  /** Whether it is of all packages' files that are called `*.alone.test.ts`, and of no other. */
  readonly isAlone?: boolean;
}

/** How files end that have a process of their own. */
const alone = ".alone.test.ts";

/** Returns the vitest configuration of the package, app or tool `name`: all that projects have in common is said here. */
export function project(
  name: string,
  { globalSetup, setupFile, isBuilt = false, sharesProcess = false, isAlone = false }: ProjectOptions = {},
): UserWorkspaceConfig {
  const conditions = ["@remat/source"];
  const { REMAT_TFJS: tfjs } = process.env;
  return defineProject({
    ...(!isBuilt && {
      resolve: { conditions, ...(tfjs !== undefined && { alias: otherTfjs(tfjs) }) },
      ssr: { resolve: { conditions } },
    }),
    test: {
      name,
      include: isAlone ? [`{packages,apps,tooling}/*/test/**/*${alone}`] : ["test/**/*.test.ts"],
      exclude: ["**/node_modules/**", ...(isAlone ? [] : [`**/*${alone}`])],
      setupFiles: [
        beside("seed.ts"),
        ...(sharesProcess ? [beside("leave-engine.ts")] : []),
        ...(setupFile === undefined ? [] : [setupFile]),
      ],
      isolate: !sharesProcess,
      // Traces are made of much that lives a little longer than the garbage of other programs: room for it saves a tenth of all that tests take.
      execArgv: ["--max-semi-space-size=64"],
      ...(globalSetup !== undefined && { globalSetup }),
      // Ends tests that hang. How fast something is is for benchmarks, so no test has a shorter limit of its own.
      testTimeout: 600_000,
      hookTimeout: 600_000,
    },
  });
}

const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Makes imports of TensorFlow.js those of the release that is installed in `folder`, in tests and in the sources that they test. */
function otherTfjs(folder: string): { find: RegExp; replacement: string }[] {
  const { resolve } = createRequire(join(folder, "package.json"));
  return ["tfjs", "tfjs-core", "tfjs-layers", "tfjs-backend-cpu", "tfjs-backend-wasm"].map((name) => ({
    find: new RegExp(`^@tensorflow/${name}$`),
    replacement: resolve(`@tensorflow/${name}`),
  }));
}
