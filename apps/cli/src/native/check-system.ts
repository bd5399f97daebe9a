import type { Environment } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import { runCommand } from "./run-command.js";

/** What of the system decides whether an addon can be built. */
export interface BuildSystem {
  readonly platform: string;
  readonly arch: string;
  /** Undefined where the C library is not glibc. */
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
 * Refuses a system for which TensorFlow has no wheels with a C++ library.
 *
 * @internal
 */
export function checkSystem({ platform, arch, glibc }: BuildSystem): void {
  if (platform !== "linux")
    throw new RematError(
      "NATIVE_PLATFORM",
      `the addon is built on Linux only, found ${platform}. There npm install @tensorflow/tfjs-node fetches one that is built.`,
    );
  if (arch !== "x64" && arch !== "arm64")
    throw new RematError(
      "NATIVE_PLATFORM",
      `TensorFlow's wheels are for x64 and arm64, found ${arch}. Use the wasm backend.`,
    );
  if (glibc === undefined)
    throw new RematError(
      "NATIVE_PLATFORM",
      "TensorFlow's wheels need glibc, and this system has another C library (Alpine has musl). Use an image that is based on Debian, or the wasm backend.",
    );
}

/**
 * The tools that a build needs, before anything is fetched.
 *
 * @internal
 */
export async function findTools(env: Environment): Promise<BuildTools> {
  const compiler = env["CXX"] ?? "g++";
  if ((await runCommand(compiler, ["--version"], { env })).code !== 0)
    throw new RematError(
      "NATIVE_COMPILER",
      `the C++ compiler ${JSON.stringify(compiler)} does not run. Install it (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++), or name another in CXX.`,
    );
  if ((await runCommand("npm", ["--version"], { env })).code !== 0)
    throw new RematError("NATIVE_NPM", "npm does not run; it comes with Node. Put its folder on the PATH.");
  return { compiler, npm: "npm" };
}
