import { defineProject } from "vitest/config";

export default defineProject({
  resolve: { conditions: ["@remat/source"] },
  ssr: { resolve: { conditions: ["@remat/source"] } },
  test: {
    name: "browser",
    include: ["test/**/*.test.ts"],
    globalSetup: "test/setup.ts",
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
