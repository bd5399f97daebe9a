import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** A bundle, and the modules that it asks of whoever runs it. */
export interface Bundle {
  readonly text: string;
  readonly imports: readonly string[];
}

/**
 * Bundles a module for a browser, from the sources of this workspace.
 *
 * @throws the bundler's error where something that is imported is not there, as Node's own modules are not in a browser
 */
export async function bundleForBrowser(source: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: fileURLToPath(new URL(".", import.meta.url)), loader: "ts" },
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
    platform: "browser",
    conditions: ["@remat/source"],
    logLevel: "silent",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  return { text: outputFiles[0].text, imports };
}
