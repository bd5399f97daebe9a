import { findPackage } from "@remat/dispatch-hook/backends/node";
import { shell } from "@remat/trace/emit";
import type { BackendProbe } from "./probe-backend.js";

/**
 * Returns how to add what a package lacks, or undefined if nothing has to be done.
 *
 * @param gpu whether the machine has a GPU for CUDA
 */
export function backendFix({ package: name, missing }: BackendProbe, gpu: boolean): string | undefined {
  if (missing === undefined || missing === "kernels") return undefined;
  const { built, withoutGpu } = findPackage(name) ?? {};
  if (built === undefined) return shell`npm install ${shell.word(name)}`;
  switch (missing) {
    case "module":
    case "addon":
      return built.by;
    case "library":
      return `put its folder on LD_LIBRARY_PATH, or: ${built.by} --force`;
    case "trust":
    case "start":
      return `${built.by} --force`;
    case "device":
      return gpu && withoutGpu !== undefined
        ? `${withoutGpu.fix}, then: ${built.by} --force`
        : "nothing: nvidia-smi shows no GPU here";
  }
}
