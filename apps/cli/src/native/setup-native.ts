import { existsSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { cacheFolder, type Environment, type NativePackage, nativeAppFolder } from "@remat/dispatch-hook/backends/node";
import { allocatorEnvironment, allocatorFile, compileAllocator, isTrusted } from "./allocator-library.js";
import { type BuildSystem, type BuildTools, checkSystem, currentSystem, findTools } from "./check-system.js";
import { compileAddon } from "./compile-addon.js";
import { findLibrary, type WheelDownload } from "./find-library.js";
import { holdLock, type Lock } from "./hold-lock.js";
import { installPackage } from "./install-package.js";
import { type Pins, readPins } from "./pins.js";
import { replaceFolder, stagingFolder } from "./replace-folder.js";
import { protect, sealFolder } from "./seal-folder.js";
import type { TensorFlowLibrary } from "./tensorflow-library.js";
import { type NativeCheck, verifyNative } from "./verify-addon.js";

/** Options of {@link setupNative}. */
export interface SetupNativeOptions {
  /** Builds tfjs-node-gpu, against a TensorFlow with CUDA. Left out: tfjs-node. */
  readonly gpu?: boolean;
  /** The cache. Left out: `cacheFolder()`. */
  readonly cache?: string | undefined;
  /**
   * Folder of a TensorFlow, or file of its wheel, to build against. Left out: the installed one, otherwise one in the
   * cache, otherwise a wheel is downloaded.
   */
  readonly tensorflow?: string | undefined;
  /** Builds again even if the existing build works. */
  readonly force?: boolean;
  /** Asks before a wheel is downloaded. Left out: it is downloaded without asking. */
  readonly confirm?: (download: WheelDownload) => Promise<boolean>;
  /** Called with each step, one line at a time. */
  readonly report?: (line: string) => void;
  /** Called while a wheel is downloaded, if the progress is known. */
  readonly progress?: (bytes: number, allBytes: number | undefined) => void;
  /** Determines the locations of commands and the cache, and pip's settings. Left out: the process's environment. */
  readonly env?: Environment;
  /** @internal */
  readonly system?: BuildSystem;
  /** @internal */
  readonly pins?: Pins;
}

/** In the cache next to the builds. Hidden, like unfinished builds. */
const lockName = ".lock";

/** Result of {@link setupNative}. */
export interface NativeSetup {
  /** The package that was installed. */
  readonly package: NativePackage;
  /** The folder in which it is installed. `selectBackend` finds it there. */
  readonly folder: string;
  /** False if the existing build worked. */
  readonly built: boolean;
  /** The library it was built against, or undefined if nothing was built. */
  readonly library: TensorFlowLibrary | undefined;
  /** Result of the check that the backend works. */
  readonly check: NativeCheck;
  /**
   * The caching allocator, a shared library for LD_PRELOAD. Undefined if it could not be built. The reason was then
   * passed to `report`.
   */
  readonly allocator: string | undefined;
}

/**
 * Builds tfjs-node with its native addon in the cache, where `selectBackend` finds it, and verifies it by training a
 * small model in a new process. It is built next to an existing build and replaces that only if it works.
 *
 * @throws RematError `NATIVE_PLATFORM`, `NATIVE_COMPILER`, `NATIVE_NPM`, `NATIVE_DECLINED`, `NATIVE_DOWNLOAD`,
 * `NATIVE_WHEEL`,
 *   `NATIVE_LIBRARY`, `NATIVE_COMPILE`, `NATIVE_VERIFY`: what is missing, and what to do
 * @example
 * const { folder, check } = await setupNative({ report: console.log });
 * console.log(`TensorFlow ${check.tensorflow} in ${folder}`);
 */
export async function setupNative(options: SetupNativeOptions = {}): Promise<NativeSetup> {
  const { gpu = false, report = () => {}, system = currentSystem() } = options;
  const name = gpu ? "tfjs-node-gpu" : "tfjs-node";
  const cache = resolve(options.cache ?? cacheFolder(options.env));
  const env = { ...(options.env ?? process.env), REMAT_CACHE_DIR: cache };
  const target = nativeAppFolder(name, env);
  const given: Given = { ...options, gpu, env, report, pins: options.pins ?? readPins() };
  const there = await useWhatIsThere(target, name, given);
  if (there?.allocator !== undefined) return there;
  if (there === undefined) checkSystem(system);
  const tools = await findTools(env).catch((error: unknown) => {
    if (there === undefined) throw error;
    report(`without the caching allocator: ${(error as Error).message}`);
  });
  if (tools === undefined) return there as NativeSetup;
  const waited = (holder: string) => report(`waiting for another build: ${holder}`);
  return holdLock(join(cache, "native", lockName), waited, async (lock) => {
    for (const folder of [cache, join(cache, "native")]) protect(folder);
    const madeMeanwhile = there ?? (await useWhatIsThere(target, name, { ...given, report: () => {} }));
    const made = madeMeanwhile ?? (await build(target, name, given, { ...tools, arch: system.arch, lock }));
    if (made.allocator !== undefined && options.force !== true) return made;
    return { ...made, allocator: await setupAllocator(target, name, tools, given) };
  });
}

/**
 * Returns the existing build, with the allocator if that exists. Undefined if there is no build, it does not work, or a
 * new one is requested.
 */
async function useWhatIsThere(
  target: string,
  name: NativePackage,
  { force, env, report }: Given,
): Promise<NativeSetup | undefined> {
  if (force === true || !existsSync(target)) return undefined;
  try {
    const check = await verifyNative(target, name, env);
    const allocator = allocatorFile(env);
    const isThere = allocator !== undefined && isTrusted(allocator, env);
    return {
      package: name,
      folder: target,
      built: false,
      library: undefined,
      check,
      allocator: isThere ? allocator : undefined,
    };
  } catch (error) {
    report(`rebuilding: ${(error as Error).message}`);
    return undefined;
  }
}

async function build(
  target: string,
  name: NativePackage,
  given: Given,
  { compiler, npm, arch, lock }: BuildTools & { readonly arch: string; readonly lock: Lock },
): Promise<NativeSetup> {
  const { env, report, pins } = given;
  const cache = cacheFolder(env);
  const library = await findLibrary(given, cache, arch);
  const staging = stagingFolder(target);
  try {
    report(`installing @tensorflow/${name}`);
    const packageFolder = await installPackage(staging, name, npm, pins, env);
    report(`compiling against ${library.folder} (${library.origin})`);
    const isCached = library.folder.startsWith(join(cache, "native"));
    await compileAddon({ packageFolder, tensorflow: library.folder, isCached, compiler, env });
    await sealFolder(staging);
    report("training a small model");
    const check = await verifyNative(staging, name, env);
    lock.assertHeld();
    replaceFolder(target, staging);
    return { package: name, folder: target, built: true, library, check, allocator: undefined };
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/**
 * Builds the caching allocator. The small test model also trains with it. Without the allocator everything works but
 * needs more memory, so a failure is only reported.
 */
async function setupAllocator(
  app: string,
  name: NativePackage,
  { compiler }: BuildTools,
  { env, report, force }: Given,
): Promise<string | undefined> {
  const file = allocatorFile(env);
  if (file === undefined || (isTrusted(file, env) && force !== true)) return file;
  try {
    report("compiling the caching allocator, and training with it");
    await compileAllocator(compiler, env);
    await verifyNative(app, name, { ...env, ...allocatorEnvironment(env) });
    return file;
  } catch (error) {
    rmSync(dirname(file), { recursive: true, force: true });
    report(`without the caching allocator: ${(error as Error).message}`);
    return undefined;
  }
}

type Given = SetupNativeOptions & Required<Pick<SetupNativeOptions, "gpu" | "env" | "report" | "pins">>;
