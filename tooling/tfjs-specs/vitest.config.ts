import { defineProject } from "vitest/config";

export default defineProject({
  test: { testTimeout: 120_000, hookTimeout: 120_000, name: "tfjs-specs", include: ["test/**/*.test.ts"] },
});
