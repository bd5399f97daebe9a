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
 * Where `setupNative` puts the caching allocator: a shared library for LD_PRELOAD, in a folder whose name tells the source that it was compiled from.
 * Undefined where that source is not, as in a bundle.
 *
 * @internal
 */
export function allocatorFile(env: Environment = process.env): string | undefined {
  if (!existsSync(source)) return undefined;
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  return join(cacheFolder(env), "native", `caching-allocator-${digest}`, "caching-allocator.so");
}

/**
 * Returns what to put into the environment of a process so that its tensors come from the caching allocator, which gives memory back to the system;
 * TensorFlow's own keeps it. It must be there when the process starts. Nothing, where `setupNative` has not built it, or others can have changed what it built.
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
    // Otherwise TensorFlow puts its own, which keeps everything, before the system's.
    TF_ONEDNN_USE_SYSTEM_ALLOCATOR: "1",
  };
}

/**
 * Returns what to put into that environment besides where what is freed may stay resident for the next tensors only as long as all that the allocator gave is within `bytes`.
 * What is in use may be more; without it an eighth of the most that was in use stays.
 *
 * @example
 * fork("train.js", { env: { ...process.env, ...allocatorEnvironment(), ...keepingWithin(3e9) } });
 */
export function keepingWithin(bytes: number): Readonly<Record<string, string>> {
  return { REMAT_ALLOCATOR_KEEPS_WITHIN: String(Math.max(0, Math.floor(bytes))) };
}

/** Whether the allocator is there, as it was built, and nobody else can have changed it. @internal */
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
 * Compiles the caching allocator into the cache, in the place of earlier ones.
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
