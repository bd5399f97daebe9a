import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { testProjects } from "./tooling/testkit/vitest/projects.ts";

const root = fileURLToPath(new URL(".", import.meta.url));
const { TURBO_HASH: turboHash, npm_lifecycle_event: task = "test", npm_package_name: name = "" } = process.env;
/** Their tests take longest, so they end while other cores have nothing left to do. */
const takeLongest = new Set(["@remat/cli", "@remat/program"]);

// Packages are tested from their sources: the custom condition makes `@remat/*` resolve to `src`, so no build is needed first.
export default defineConfig({
  root,
  resolve: { conditions: ["@remat/source"] },
  ssr: { resolve: { conditions: ["@remat/source"], externalConditions: ["@remat/source"] } },
  test: {
    projects: testProjects(root),
    // turbo runs as many packages at once as there are cores.
    maxWorkers: turboHash === undefined ? "100%" : takeLongest.has(name) ? 2 : 1,
    experimental: { fsModuleCache: true },
    // Counted after all tests, here and in CI.
    ...(turboHash !== undefined && {
      reporters: [
        "default",
        ["json", { outputFile: join(process.cwd(), "test-results", `${task.replaceAll(":", "-")}.json`) }],
      ],
    }),
  },
});
