import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { type BroughtBackend, backendPackages, cacheFolder } from "@remat/dispatch-hook/backends/node";
import { installedVersion } from "../installed-version.js";
import { allocatorEnvironment } from "../native/index.js";
import { shownGpus } from "../nvidia-smi.js";
import { versionText } from "../version.js";
import { type BackendProbe, probeBackend } from "./probe-backend.js";

/** Results of `remat doctor`. Sizes are bytes. */
export interface Examination {
  readonly remat: string;
  readonly node: string;
  readonly platform: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  /** Names and memory of the GPUs that NVIDIA's driver lists, or empty if there is no GPU or no driver. */
  readonly gpus: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
  readonly cache: { readonly folder: string; readonly native: readonly string[] };
  /** Environment variables that make a process train with the caching allocator, or empty if it is not built. */
  readonly allocator: Readonly<Record<string, string>>;
  readonly backends: readonly BackendProbe[];
}

/** Tests a package in a separate process. Unit tests replace this function. */
export type Probe = (brought: BroughtBackend, from: string) => Promise<BackendProbe>;

/** Examines the machine, the packages and every backend, as seen from the folder `from`. */
export async function examine(from: string, probe: Probe = probeBackend): Promise<Examination> {
  const folder = cacheFolder();
  const native = join(folder, "native");
  const backends: BackendProbe[] = [];
  for (const brought of backendPackages()) backends.push(await probe(brought, from));
  return {
    remat: versionText(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    gpus: shownGpus().map(({ name, memory }) => `${name}, ${memory}`),
    versions: packageVersions(),
    cache: { folder, native: existsSync(native) ? readdirSync(native).filter((name) => !name.startsWith(".")) : [] },
    allocator: allocatorEnvironment({ ...process.env, LD_PRELOAD: "" }),
    backends,
  };
}

/** Versions of remat's own packages and tfjs that this command runs with. */
function packageVersions(): Record<string, string> {
  const own = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const names = Object.keys(own.dependencies).filter((name) => /^@(remat|tensorflow)\//.test(name));
  return Object.fromEntries(names.sort().map((name) => [name, installedVersion(name) ?? "not found"]));
}
