import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Environment } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import { checkWheel, downloadWheel } from "./download-wheel.js";
import { extractWheel } from "./extract-wheel.js";
import { type Pins, requiredWheel, type WheelRequirement } from "./pins.js";
import { replaceFolder, stagingFolder } from "./replace-folder.js";
import { checkSeal, sealFolder } from "./seal-folder.js";
import { findInstalled, missingFromLibrary, type TensorFlowLibrary } from "./tensorflow-library.js";

/** A proposed download, for the question to the user. */
export interface WheelDownload extends WheelRequirement {
  /** The folder it is unpacked to. */
  readonly folder: string;
}

/**
 * The options of `setupNative` that select the TensorFlow to build against.
 *
 * @internal
 */
export interface LibraryOptions {
  readonly gpu: boolean;
  readonly env: Environment;
  readonly report: (line: string) => void;
  readonly pins: Pins;
  readonly tensorflow?: string | undefined;
  readonly confirm?: (download: WheelDownload) => Promise<boolean>;
  readonly progress?: (bytes: number, allBytes: number | undefined) => void;
}

/**
 * Finds a TensorFlow to build against: the named one, Python's, the one in the cache, or, after asking, a downloaded
 * one.
 *
 * @throws RematError `NATIVE_LIBRARY`, `NATIVE_DECLINED`, `NATIVE_DOWNLOAD`, `NATIVE_WHEEL`
 * @internal
 */
export async function findLibrary(options: LibraryOptions, cache: string, arch: string): Promise<TensorFlowLibrary> {
  const { gpu, tensorflow: given, pins } = options;
  const wheel = requiredWheel(pins, gpu, arch);
  const folder = join(cache, "native", `${wheel.project}-${wheel.version}`);
  if (given !== undefined) return useGiven(resolve(given), cache, pins);
  const installed = await findInstalled(gpu, options.env);
  if (installed !== undefined) return installed;
  if (missingFromLibrary(folder) === undefined) {
    const [problem] = (await checkSeal(folder)).problems;
    if (problem === undefined) return { folder, origin: "cached" };
    options.report(`fetching TensorFlow again, because the cached one was changed: ${problem.path} ${problem.what}`);
  }
  if (options.confirm !== undefined && !(await options.confirm({ ...wheel, folder })))
    throw new RematError(
      "NATIVE_DECLINED",
      "nothing was built, because you declined to fetch TensorFlow. Install it (pip install tensorflow-cpu), or name its folder or wheel with --tensorflow.",
    );
  return fetchLibrary(wheel, folder, options);
}

async function useGiven(path: string, cache: string, pins: Pins): Promise<TensorFlowLibrary> {
  if (!existsSync(path))
    throw new RematError(
      "NATIVE_LIBRARY",
      `${path}: no such file or folder. --tensorflow expects TensorFlow's folder or a wheel.`,
    );
  if (statSync(path).isDirectory()) {
    const folder = [path, join(path, "tensorflow")].find((each) => missingFromLibrary(each) === undefined);
    if (folder === undefined)
      throw new RematError(
        "NATIVE_LIBRARY",
        `${path} has no ${missingFromLibrary(path)}. --tensorflow expects the folder tensorflow in Python's site-packages, version 2.12 or later.`,
      );
    return { folder, origin: "given" };
  }
  // A wheel with the name of a pinned one must match its hash. For any other wheel the user is responsible.
  const pinned = Object.values(pins.wheels).find(({ fileName }) => fileName === basename(path));
  if (pinned !== undefined) await checkWheel(path, pinned);
  const folder = join(cache, "native", (path.split("/").at(-1) ?? "").replace(/\.whl$/, ""));
  await unpack(path, folder);
  return { folder, origin: "given" };
}

async function fetchLibrary(
  wheel: WheelRequirement,
  folder: string,
  options: LibraryOptions,
): Promise<TensorFlowLibrary> {
  options.report(`fetching ${wheel.project} ${wheel.version}, about ${Math.round(wheel.fetchedBytes / 1e6)} MB`);
  const staging = stagingFolder(join(folder, "../wheel"));
  try {
    const { env, progress = () => {} } = options;
    await unpack(await downloadWheel(wheel, { folder: staging, env, progress }), folder);
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
        `${wheel} has no ${missing}. Use a TensorFlow wheel for Linux, 2.12 or later.`,
      );
    await sealFolder(staging);
    replaceFolder(folder, staging);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
