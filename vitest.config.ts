import { defineConfig } from "vitest/config";

// Packages are tested from their sources: the custom condition makes `@remat/*` resolve to `src`, so no build is needed first.
export default defineConfig({
  resolve: { conditions: ["@remat/source"] },
  ssr: { resolve: { conditions: ["@remat/source"], externalConditions: ["@remat/source"] } },
  test: {
    projects: ["{packages,apps,tooling}/*/vitest.config.ts", "examples/vitest.config.ts", "vitest.alone.config.ts"],
    maxWorkers: "100%",
  },
});
