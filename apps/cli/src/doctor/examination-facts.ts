import { findPackage } from "@remat/dispatch-hook/backends/node";
import { formatBytes } from "@remat/reporting";
import { type Facts } from "@remat/reporting/verdict";
import { backendFix } from "./backend-fix.js";
import type { Examination } from "./examine.js";
import type { BackendProbe } from "./probe-backend.js";

/** Returns the main facts about a machine: whether it can train, on what, and the command to run next. */
export function examinationFacts({ backends, gpus, memoryBytes }: Examination): Facts {
  const taken = backends.find(({ works }) => works);
  const better = betterFix(backends, taken, gpus.length > 0);
  const command = better ?? (taken && "remat record -- node train.js");
  return {
    facts: [
      taken === undefined ? "No backend works here, so remat can only estimate." : describeTaken(taken),
      `This machine has ${formatBytes(memoryBytes)} of memory.`,
      ...(better !== undefined && taken !== undefined ? ["A faster backend can be built:"] : []),
      ...(command === undefined ? [] : better !== undefined && taken !== undefined ? [command] : ["Next:", command]),
    ],
    command,
  };
}

function describeTaken({ package: name, usesGpu, gflops }: BackendProbe): string {
  const speed = gflops === undefined ? "" : ` at ${gflops < 10 ? gflops.toFixed(1) : Math.round(gflops)} GFLOP/s`;
  return `${name} trains here${usesGpu ? " on the GPU" : ""}${speed}.`;
}

/** Returns the command that installs the best backend missing on this machine. */
function betterFix(
  backends: readonly BackendProbe[],
  taken: BackendProbe | undefined,
  hasGpu: boolean,
): string | undefined {
  const better = taken === undefined ? backends : backends.slice(0, backends.indexOf(taken));
  const usable = better.filter((probe) => hasGpu || findPackage(probe.package)?.withoutGpu === undefined);
  return usable.map((probe) => backendFix(probe, hasGpu)).find((fix) => fix !== undefined && /^(remat|npm) /.test(fix));
}
