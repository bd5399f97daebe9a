import { cp } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";
import webpack from "webpack";
import { runCommand } from "./run-command.js";

/**
 * Builds static files from `index.html` and `main.js` in a folder, with only the output folder configured. `modules` is
 * the folder of installed packages.
 *
 * @typedef {(folder: string, out: string, modules: string) => Promise<unknown>} Bundler
 */

/** @type {Readonly<Record<string, Bundler>>} */
export const bundlers = {
  /** The version that the page has installed. */
  vite: (cwd, out, modules) =>
    runCommand(process.execPath, [join(modules, "vite", "bin", "vite.js"), "build", "--outDir", out], { cwd }),
  async esbuild(folder, outdir) {
    const entryPoints = [join(folder, "main.js")];
    await esbuild.build({ entryPoints, outdir, bundle: true, splitting: true, format: "esm", logLevel: "silent" });
    await cp(join(folder, "index.html"), join(outdir, "index.html"));
  },
  async webpack(folder, path) {
    /** @type {import("webpack").Configuration} */
    const configuration = {
      context: folder,
      entry: "./main.js",
      mode: "development",
      devtool: false,
      output: { path, filename: "main.js", publicPath: "/" },
    };
    await new Promise((resolve, reject) =>
      webpack(configuration, (error, stats) => {
        const problems = error === null ? stats?.toJson({ all: false, errors: true }).errors : [error];
        if (problems === undefined || problems.length === 0) resolve(undefined);
        else reject(new Error(problems.map(({ message }) => message).join("\n")));
      }),
    );
    await cp(join(folder, "index.html"), join(path, "index.html"));
  },
};
