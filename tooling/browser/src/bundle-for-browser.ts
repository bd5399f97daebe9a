import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

/** A bundle, and the modules that it expects at run time. */
export interface Bundle {
  readonly text: string;
  readonly imports: readonly string[];
}

const examples = new URL("../../../examples/", import.meta.url);

/**
 * In a page, the files that the examples read from disk (Keras topologies) are in their bundle, by the ends of their
 * URLs.
 */
const filesOfExamples: Plugin = {
  name: "files-of-examples",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:fs$/ }, ({ path, importer }) =>
      importer.startsWith(fileURLToPath(examples)) ? { path, namespace: "files" } : undefined,
    );
    onLoad({ filter: /./, namespace: "files" }, () => {
      const topologies = new URL("keras/", examples);
      const texts = readdirSync(topologies).map((name) => [name, readFileSync(new URL(name, topologies), "utf8")]);
      return {
        contents: `const texts = new Map(${JSON.stringify(texts)}); export const readFileSync = ({ pathname }) => texts.get(pathname.split("/").at(-1));`,
      };
    });
  },
};

/**
 * Bundles a module for a browser with esbuild, from the sources of this workspace.
 *
 * @throws the bundler's error if an import is missing, as Node's own modules are in a browser
 */
export async function bundleForBrowser(source: string, minify = false): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: fileURLToPath(new URL(".", import.meta.url)), loader: "ts" },
    bundle: true,
    write: false,
    metafile: true,
    minify,
    format: "esm",
    target: "es2022",
    platform: "browser",
    conditions: ["@remat/source"],
    plugins: [filesOfExamples],
    logLevel: "silent",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  return { text: outputFiles[0].text, imports };
}
