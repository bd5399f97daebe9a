import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundleAgent } from "../../../../packages/program/bundle-agent.js";

const cli = fileURLToPath(new URL("../../../cli/", import.meta.url));

/** The real `remat`, bundled from sources, so that no build can be out of date; the path of its script. */
export async function bundleRemat(): Promise<string> {
  // Next to the command's own build, so that tfjs, which is not bundled, and the package's version are found.
  const outdir = `${cli}.from-sources`;
  mkdirSync(outdir, { recursive: true });
  await build({
    entryPoints: {
      main: `${cli}src/main.ts`,
      "trace-worker": `${cli}src/terminal/trace-worker.ts`,
      "what-if-worker": `${cli}src/what-if/what-if-worker.ts`,
      "examples/perceptron": `${cli}src/terminal/examples/perceptron.ts`,
      "examples/small-cnn": `${cli}src/terminal/examples/small-cnn.ts`,
      "crashing-app": fileURLToPath(new URL("./crashing-app.ts", import.meta.url)),
    },
    outdir,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@remat/source"],
    external: ["@tensorflow/*", "@resvg/*", "react-devtools-core", "highs"],
    define: { "process.env.NODE_ENV": '"production"', "process.env.DEV": '"false"' },
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    logLevel: "error",
  });
  // The files that `remat watch` loads into programs are found next to it.
  await bundleAgent(outdir, ["@remat/source"]);
  return `${outdir}/main.js`;
}
