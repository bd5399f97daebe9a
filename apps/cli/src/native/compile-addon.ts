import { mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import type { Environment } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import { failureText, runCommand } from "./run-command.js";
import { libraryNames } from "./tensorflow-library.js";

export interface CompileOptions {
  /** Folder of tfjs-node, with its C++ sources in `binding`. */
  readonly packageFolder: string;
  readonly tensorflow: string;
  /** True if TensorFlow is in the cache and moves with it. */
  readonly isCached: boolean;
  readonly compiler: string;
  readonly env: Environment;
}

/**
 * Compiles tfjs-node's two C++ files into `lib/napi-v8/tfjs_binding.node`, where tfjs-node looks for them. Links
 * TensorFlow into `deps/lib`, where the addon looks for it, as the package's own binding.gyp does. The headers are
 * those of Node-API, which is the same for every Node version.
 *
 * @throws RematError `NATIVE_COMPILE`
 * @internal
 */
export async function compileAddon({
  packageFolder,
  tensorflow,
  isCached,
  compiler,
  env,
}: CompileOptions): Promise<void> {
  const libraries = join(packageFolder, "deps/lib");
  const output = join(packageFolder, "lib/napi-v8");
  for (const folder of [libraries, output]) mkdirSync(folder, { recursive: true });
  for (const name of libraryNames) {
    const target = join(tensorflow, name);
    symlinkSync(isCached ? relative(libraries, target) : target, join(libraries, name));
  }
  const { include_dir: nodeHeaders } = createRequire(import.meta.url)("node-api-headers") as { include_dir: string };
  const args = [
    ...["-O2", "-std=c++17", "-fPIC", "-shared", "-DNAPI_VERSION=8", "-w"],
    ...[`-I${nodeHeaders}`, `-I${join(tensorflow, "include")}`],
    ...["tfjs_backend.cc", "tfjs_binding.cc"].map((file) => join(packageFolder, "binding", file)),
    ...["-o", join(output, "tfjs_binding.node"), `-L${libraries}`],
    ...libraryNames.map((name) => `-l:${name}`),
    // A TensorFlow installed for Python finds CUDA's libraries only if it is loaded from its own folder.
    ...(isCached ? [] : [`-Wl,-rpath,${tensorflow}`]),
    "-Wl,-rpath,$ORIGIN/../../deps/lib",
  ];
  const result = await runCommand(compiler, args, { env });
  if (result.code !== 0)
    throw new RematError(
      "NATIVE_COMPILE",
      `${compiler} could not compile the addon against ${tensorflow}: ${failureText(result)}. ` +
        "Try another version of TensorFlow: name its folder or wheel with --tensorflow.",
    );
}
