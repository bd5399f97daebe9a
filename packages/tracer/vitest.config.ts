import { defineProject } from "vitest/config";

export default defineProject({
  resolve: { conditions: ["@remat/source"] },
  ssr: { resolve: { conditions: ["@remat/source"] } },
  test: { name: "tracer", include: ["test/**/*.test.ts"] },
});
