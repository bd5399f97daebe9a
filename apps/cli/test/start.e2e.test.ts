import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Returns the sources that are loaded with a source, without those that it imports later. */
async function loadedWith(source: string): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [source],
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["@remat/source"],
    external: ["@tensorflow/*", "@resvg/resvg-js", "highs"],
    metafile: true,
    write: false,
    logLevel: "error",
  });
  const loaded = new Set([source]);
  for (const file of loaded)
    for (const { path, kind, external } of metafile.inputs[file].imports)
      if (kind === "import-statement" && external !== true) loaded.add(path);
  return [...loaded];
}

describe("a command whose step fits", () => {
  it.each([
    "apps/cli/src/commands/estimate.ts",
    "apps/cli/src/commands/memory.ts",
    "packages/checkpoint/src/predict/index.ts",
  ])("does not load the planner: %s", async (source) => {
    const loaded = await loadedWith(source);
    expect(loaded.length).toBeGreaterThan(50);
    expect(loaded.filter((file) => file.startsWith("packages/planner/"))).toEqual([]);
  });
});
