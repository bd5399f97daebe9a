import { defineProject } from "vitest/config";

export default defineProject({
  resolve: { conditions: ["@remat/source"] },
  ssr: { resolve: { conditions: ["@remat/source"] } },
  test: { testTimeout: 240_000, hookTimeout: 240_000, name: "program", include: ["test/**/*.test.ts"] },
});
