import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { cacheFolder, type NativePackage, nativeAppFolder } from "@remat/backends/node";
import { RematError } from "@remat/trace";
import { allocatorEnvironment, allocatorFile, compileAllocator } from "./caching-allocator.js";
import { type BuildSystem, checkSystem, currentSystem, findTools } from "./check-system.js";
import { compileAddon } from "./compile-addon.js";
import { downloadWheel } from "./download-wheel.js";
import { extractWheel } from "./extract-wheel.js";
import { installPackage } from "./install-package.js";
import { replaceFolder, stagingFolder } from "./replace-folder.js";
import type { Environment } from "./run-command.js";
import { findInstalled, missingFromLibrary, type TensorFlowLibrary } from "./tensorflow-library.js";
import { type NativeCheck, verifyNative } from "./verify-addon.js";
import { requiredWheel, type WheelRequirement } from "./wheel-index.js";

/** What would be fetched, for the question whether to. */
export interface WheelDownload extends WheelRequirement {
  /** Where it is unpacked. */
  readonly folder: string;
}

export interface SetupNativeOptions {
  /** Builds tfjs-node-gpu, against a TensorFlow that knows CUDA; left out: tfjs-node. */
  readonly gpu?: boolean;
  /** The cache; left out: `cacheFolder()`. */
  readonly cache?: string;
  /** Folder of a TensorFlow, or file of its wheel, to build against; left out: the installed one, else one in the cache, else a wheel is fetched. */
  readonly tensorflow?: string;
  /** Builds anew even if what is there works. */
  readonly force?: boolean;
  /** Asked before a wheel is fetched; left out: it is. */
  readonly confirm?: (download: WheelDownload) => Promise<boolean>;
  /** Told what is done, a line at a time. */
  readonly report?: (line: string) => void;
  /** Told while a wheel is fetched, where that is known. */
  readonly progress?: (bytes: number, allBytes: number | undefined) => void;
  /** Says where commands and the cache are, and what pip is to use; left out: that of the process. */
  readonly env?: Environment;
  /** @internal */
  readonly system?: BuildSystem;
}

export interface NativeSetup {
  readonly package: NativePackage;
  /** The folder in which it is installed; `selectBackend` finds it there. */
  readonly folder: string;
  /** False if what was there worked. */
  readonly built: boolean;
  /** What it was built against; undefined if it was not. */
  readonly library: TensorFlowLibrary | undefined;
  readonly check: NativeCheck;
  /** The caching allocator, a shared library for LD_PRELOAD; undefined if it could not be built, which `report` was told. */
  readonly allocator: string | undefined;
}

/**
 * Builds tfjs-node with its native addon in the cache, where `selectBackend` finds it, and proves it by training a small model in a fresh process.
 * It is built beside what was there and takes its place only when it works.
 *
 * @throws RematError `NATIVE_PLATFORM`, `NATIVE_COMPILER`, `NATIVE_NPM`, `NATIVE_DECLINED`, `NATIVE_DOWNLOAD`, `NATIVE_WHEEL`,
 *   `NATIVE_LIBRARY`, `NATIVE_COMPILE`, `NATIVE_VERIFY`: what is missing, and what to do
 * @example
 * const { folder, check } = await setupNative({ report: console.log });
 * console.log(`TensorFlow ${check.tensorflow} in ${folder}`);
 */
export async function setupNative(options: SetupNativeOptions = {}): Promise<NativeSetup> {
  const { gpu = false, env = process.env, report = () => {}, system = currentSystem() } = options;
  const name = gpu ? "tfjs-node-gpu" : "tfjs-node";
  const cache = resolve(options.cache ?? cacheFolder(env));
  const target = nativeAppFolder(name, { REMAT_CACHE_DIR: cache });
  if (options.force !== true && existsSync(target)) {
    try {
      const check = await verifyNative(target, name, env);
      const allocator = await setupAllocator(target, name, cache, { ...options, report, env });
      return { package: name, folder: target, built: false, library: undefined, check, allocator };
    } catch (error) {
      report(`what is there is built anew: ${(error as Error).message}`);
    }
  }
  checkSystem(system);
  const { compiler, npm } = await findTools(env);
  const library = await findLibrary({ ...options, gpu, env, report }, cache, system.arch);
  const staging = stagingFolder(target);
  try {
    report(`installing @tensorflow/${name}`);
    const packageFolder = await installPackage(staging, name, npm, env);
    report(`compiling against ${library.folder} (${library.origin})`);
    const isCached = library.folder.startsWith(join(cache, "native"));
    await compileAddon({ packageFolder, tensorflow: library.folder, isCached, compiler, env });
    report("training a small model");
    const check = await verifyNative(staging, name, env);
    replaceFolder(target, staging);
    const allocator = await setupAllocator(target, name, cache, { ...options, report, env });
    return { package: name, folder: target, built: true, library, check, allocator };
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** The caching allocator, with which the small model trains, too. Without it everything works, in more memory: so its failure is only told. */
async function setupAllocator(
  app: string,
  name: NativePackage,
  cache: string,
  { env, report, force }: Pick<SetupNativeOptions, "force"> & Required<Pick<SetupNativeOptions, "env" | "report">>,
): Promise<string | undefined> {
  const own = { ...env, REMAT_CACHE_DIR: cache };
  const file = allocatorFile(own);
  if (file === undefined || (existsSync(file) && force !== true)) return file;
  try {
    const { compiler } = await findTools(env);
    report("compiling the caching allocator, and training with it");
    await compileAllocator(compiler, own);
    await verifyNative(app, name, { ...own, ...allocatorEnvironment(own) });
    return file;
  } catch (error) {
    rmSync(file, { force: true });
    report(`without the caching allocator: ${(error as Error).message}`);
    return undefined;
  }
}

type Given = SetupNativeOptions & Required<Pick<SetupNativeOptions, "gpu" | "env" | "report">>;

async function findLibrary(options: Given, cache: string, arch: string): Promise<TensorFlowLibrary> {
  const { gpu, tensorflow: given } = options;
  const wheel = requiredWheel(gpu, arch);
  const folder = join(cache, "native", `${wheel.project}-${wheel.version}`);
  if (given !== undefined) return useGiven(resolve(given), cache);
  const installed = await findInstalled(gpu, options.env);
  if (installed !== undefined) return installed;
  if (missingFromLibrary(folder) === undefined) return { folder, origin: "cached" };
  if (options.confirm !== undefined && !(await options.confirm({ ...wheel, folder })))
    throw new RematError(
      "NATIVE_DECLINED",
      "nothing was built, since TensorFlow was not to be fetched. Install it (pip install tensorflow-cpu), or name its folder or wheel by --tensorflow.",
    );
  return fetchLibrary(wheel, folder, options, arch);
}

async function useGiven(path: string, cache: string): Promise<TensorFlowLibrary> {
  if (!existsSync(path))
    throw new RematError(
      "NATIVE_LIBRARY",
      `there is no ${path}. --tensorflow expects a folder of TensorFlow or a wheel.`,
    );
  if (statSync(path).isDirectory()) {
    const folder = [path, join(path, "tensorflow")].find((each) => missingFromLibrary(each) === undefined);
    if (folder === undefined)
      throw new RematError(
        "NATIVE_LIBRARY",
        `${path} has no ${missingFromLibrary(path)}. --tensorflow expects the folder tensorflow of Python's site-packages, version 2.12 or later.`,
      );
    return { folder, origin: "given" };
  }
  const folder = join(cache, "native", (path.split("/").at(-1) ?? "").replace(/\.whl$/, ""));
  await unpack(path, folder);
  return { folder, origin: "given" };
}

async function fetchLibrary(
  wheel: WheelRequirement,
  folder: string,
  options: Given,
  arch: string,
): Promise<TensorFlowLibrary> {
  options.report(`fetching ${wheel.project} ${wheel.version}, about ${Math.round(wheel.fetchedBytes / 1e6)} MB`);
  const staging = stagingFolder(join(folder, "../wheel"));
  try {
    const { env, progress = () => {} } = options;
    await unpack(await downloadWheel(wheel, { folder: staging, arch, env, progress }), folder);
    return { folder, origin: "fetched" };
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function unpack(wheel: string, folder: string): Promise<void> {
  const staging = stagingFolder(folder);
  try {
    mkdirSync(staging, { recursive: true });
    await extractWheel(wheel, staging);
    const missing = missingFromLibrary(staging);
    if (missing !== undefined)
      throw new RematError(
        "NATIVE_WHEEL",
        `${wheel} has no ${missing}. Expected a wheel of TensorFlow for Linux, 2.12 or later.`,
      );
    replaceFolder(folder, staging);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
