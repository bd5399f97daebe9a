import { fileURLToPath } from "node:url";
import { defineProject, type UserWorkspaceConfig } from "vitest/config";

/** What a project's tests may say of themselves besides their name. */
export interface ProjectOptions {
  /** File that prepares what all of the project's tests need, from the project's folder. */
  readonly globalSetup?: string;
  /** Take `@remat/*` as built, instead of from their sources. */
  readonly isBuilt?: boolean;
}

/** Returns the vitest configuration of the package, app or tool `name`: all that projects have in common is said here. */
export function project(name: string, { globalSetup, isBuilt = false }: ProjectOptions = {}): UserWorkspaceConfig {
  const conditions = ["@remat/source"];
  return defineProject({
    ...(!isBuilt && { resolve: { conditions }, ssr: { resolve: { conditions } } }),
    test: {
      name,
      include: ["test/**/*.test.ts"],
      setupFiles: [fileURLToPath(new URL("seed.ts", import.meta.url))],
      ...(globalSetup !== undefined && { globalSetup }),
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  });
}
