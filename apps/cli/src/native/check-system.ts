import type { Environment } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import { runCommand } from "./run-command.js";

/** Properties of the system that decide whether an addon can be built. */
export interface BuildSystem {
  readonly platform: string;
  readonly arch: string;
  /** Undefined if the C library is not glibc. */
  readonly glibc: string | undefined;
}

/** The compiler, by name or path, and npm. */
export interface BuildTools {
  readonly compiler: string;
  readonly npm: string;
}

/** @internal */
export function currentSystem(): BuildSystem {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return { platform: process.platform, arch: process.arch, glibc: header.glibcVersionRuntime };
}

/**
 * Rejects a system for which TensorFlow has no wheels with a C++ library.
 *
 * @internal
 */
export function checkSystem({ platform, arch, glibc }: BuildSystem): void {
  if (platform !== "linux")
    throw new RematError(
      "NATIVE_PLATFORM",
      `building the addon is not supported on ${platform}, only on Linux. Run npm install @tensorflow/tfjs-node, which fetches a built one.`,
    );
  if (arch !== "x64" && arch !== "arm64")
    throw new RematError(
      "NATIVE_PLATFORM",
      `TensorFlow has no wheels for ${arch}, only for x64 and arm64. Use the wasm backend.`,
    );
  if (glibc === undefined)
    throw new RematError(
      "NATIVE_PLATFORM",
      "TensorFlow's wheels need glibc, and this system has another C library, such as Alpine's musl. Use an image based on Debian, or the wasm backend.",
    );
}

/**
 * Finds the tools that a build needs before anything is downloaded.
 *
 * @internal
 */
export async function findTools(env: Environment): Promise<BuildTools> {
  const compiler = env["CXX"] ?? "g++";
  if ((await runCommand(compiler, ["--version"], { env })).code !== 0)
    throw new RematError(
      "NATIVE_COMPILER",
      `the C++ compiler ${JSON.stringify(compiler)} does not run. Install one (Debian, Ubuntu: apt-get install g++; ` +
        "Fedora: dnf install gcc-c++), or name another in CXX.",
    );
  if ((await runCommand("npm", ["--version"], { env })).code !== 0)
    throw new RematError("NATIVE_NPM", "npm does not run, though it comes with Node. Add its folder to PATH.");
  return { compiler, npm: "npm" };
}
