import { defineProject } from "vitest/config";

export default defineProject({
  resolve: { conditions: ["@remat/source"] },
  ssr: { resolve: { conditions: ["@remat/source"] } },
  test: { testTimeout: 120_000, hookTimeout: 120_000, name: "backends", include: ["test/**/*.test.ts"] },
});
