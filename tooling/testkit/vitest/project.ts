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
  /**
   * Whether its files share a process and its modules: of packages that are pure, where no file leaves anything behind that another sees. Half of their time went into importing
   * the same sources file by file.
   */
  readonly isPure?: boolean;
}

/** Returns the vitest configuration of the package, app or tool `name`: all that projects have in common is said here. */
export function project(
  name: string,
  { globalSetup, isBuilt = false, isPure = false }: ProjectOptions = {},
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
      include: ["test/**/*.test.ts"],
      setupFiles: [fileURLToPath(new URL("seed.ts", import.meta.url))],
      ...(isPure && { isolate: false }),
      ...(globalSetup !== undefined && { globalSetup }),
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  });
}

/** Makes imports of TensorFlow.js those of the release that is installed in `folder`, in tests and in the sources that they test. */
function otherTfjs(folder: string): { find: RegExp; replacement: string }[] {
  const { resolve } = createRequire(join(folder, "package.json"));
  return ["tfjs", "tfjs-core", "tfjs-layers", "tfjs-backend-cpu", "tfjs-backend-wasm"].map((name) => ({
    find: new RegExp(`^@tensorflow/${name}$`),
    replacement: resolve(`@tensorflow/${name}`),
  }));
}
