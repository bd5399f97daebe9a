import { defineProject } from "vitest/config";

export default defineProject({
  resolve: { conditions: ["@remat/source"] },
  ssr: { resolve: { conditions: ["@remat/source"] } },
  test: { name: "cli", include: ["test/**/*.test.ts"] },
});
