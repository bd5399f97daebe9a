import { type BuildOptions, type BuildResult, build } from "esbuild";

/** Bundles sources into files that Node can start: tests run from sources, but a child process knows no TypeScript. tfjs stays outside. */
export function bundleForNode(
  options: Pick<BuildOptions, "entryPoints" | "outdir" | "plugins" | "banner">,
): Promise<BuildResult<{ metafile: true }>> {
  return build({
    ...options,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["@remat/source"],
    external: ["@tensorflow/*"],
    metafile: true,
    logLevel: "error",
  });
}
