import { build, type Plugin, type Rollup } from "vite";
import { type Bundle, bundleForBrowser } from "./bundle-for-browser.js";

const entry = "virtual:entry.ts";

const entryOf = (source: string): Plugin => ({
  name: "entry",
  enforce: "pre",
  resolveId(id, importer) {
    if (id === entry) return id;
    // Relative imports of the module are resolved from this file.
    return importer === entry && id.startsWith(".") ? this.resolve(id, import.meta.filename) : undefined;
  },
  load: (id) => (id === entry ? source : undefined),
});

async function bundleByVite(source: string): Promise<Bundle> {
  const { output } = (await build({
    configFile: false,
    root: import.meta.dirname,
    logLevel: "error",
    plugins: [entryOf(source)],
    resolve: { conditions: ["@remat/source", "module", "browser", "development|production"] },
    build: {
      write: false,
      rolldownOptions: {
        input: entry,
        preserveEntrySignatures: "strict",
        output: { codeSplitting: false },
      },
    },
  })) as Rollup.RollupOutput;
  const [{ code, imports }] = output;
  return { text: code, imports };
}

/** Bundlers with minification, as for publishing, which changes names and the text of functions. */
export const minifiers: Readonly<Record<string, (source: string) => Promise<Bundle>>> = {
  esbuild: (source) => bundleForBrowser(source, true),
  vite: bundleByVite,
};
