import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder, checkCached, type Environment } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import { replaceFolder, stagingFolder } from "./replace-folder.js";
import { failureText, runCommand } from "./run-command.js";
import { sealFolder } from "./seal-folder.js";

const source = fileURLToPath(new URL("caching-allocator.cc", import.meta.url));

/**
 * Path of the caching allocator that `setupNative` builds: a shared library for LD_PRELOAD, in a folder named after a
 * hash of its source. Undefined if the source is missing, as in a bundle.
 *
 * @internal
 */
export function allocatorFile(env: Environment = process.env): string | undefined {
  if (!existsSync(source)) return undefined;
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  return join(cacheFolder(env), "native", `caching-allocator-${digest}`, "caching-allocator.so");
}

/**
 * Returns environment variables that make a process take its tensors from the caching allocator, which returns memory
 * to the system. TensorFlow's own allocator keeps it. They must be set when the process starts. Empty if `setupNative`
 * has not built the allocator, or if other users can have changed it.
 *
 * @example
 * fork("train.js", { env: { ...process.env, ...allocatorEnvironment() } });
 */
export function allocatorEnvironment(env: Environment = process.env): Readonly<Record<string, string>> {
  const file = allocatorFile(env);
  if (file === undefined || !isTrusted(file, env)) return {};
  const { LD_PRELOAD: others = "" } = env;
  const isThere = others.split(/[: ]/).includes(file);
  return {
    LD_PRELOAD: isThere ? others : `${file}${others === "" ? "" : `:${others}`}`,
    // Otherwise TensorFlow puts its own allocator, which keeps everything, in front of the system's.
    TF_ONEDNN_USE_SYSTEM_ALLOCATOR: "1",
  };
}

/**
 * Returns additional environment variables that limit the freed memory kept for reuse. It is kept only while the
 * allocator's total is within `bytes`. Memory in use may exceed this. Without the limit, up to an eighth of the peak is
 * kept.
 *
 * @example
 * fork("train.js", { env: { ...process.env, ...allocatorEnvironment(), ...keepingWithin(3e9) } });
 */
export function keepingWithin(bytes: number): Readonly<Record<string, string>> {
  return { REMAT_ALLOCATOR_KEEPS_WITHIN: String(Math.max(0, Math.floor(bytes))) };
}

/**
 * Returns whether the allocator exists unchanged and no other user can have modified it.
 *
 * @internal
 */
export function isTrusted(file: string, env: Environment): boolean {
  if (!existsSync(file)) return false;
  try {
    checkCached(file, env);
    return true;
  } catch {
    return false;
  }
}

/**
 * Compiles the caching allocator into the cache, replacing earlier builds.
 *
 * @throws RematError `NATIVE_COMPILE`
 * @internal
 */
export async function compileAllocator(compiler: string, env: Environment): Promise<void> {
  const file = allocatorFile(env);
  if (file === undefined) return;
  const folder = dirname(file);
  const staging = stagingFolder(folder);
  try {
    const made = join(staging, basename(file));
    const args = ["-O2", "-std=c++17", "-fPIC", "-shared", source, "-o", made, "-ldl", "-lpthread"];
    const result = await runCommand(compiler, args, { env });
    if (result.code !== 0)
      throw new RematError(
        "NATIVE_COMPILE",
        `${compiler} could not compile ${source}: ${failureText(result)}. Check the compiler's installation, or name another in CXX.`,
      );
    await sealFolder(staging);
    replaceFolder(folder, staging);
    for (const name of readdirSync(dirname(folder)))
      if (/^caching-allocator-\w+(\.so)?$/.test(name) && name !== basename(folder))
        rmSync(join(dirname(folder), name), { recursive: true });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
