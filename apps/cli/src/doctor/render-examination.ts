import { formatBytes } from "@remat/reporting";
import { formatTable } from "@remat/text-table";
import { backendFix } from "./backend-fix.js";
import type { Examination } from "./examine.js";
import type { BackendProbe } from "./probe-backend.js";

/** What is found, as `remat doctor` shows it. */
export function renderExamination(found: Examination): string {
  const { backends, versions, cache, gpus, allocator } = found;
  const gpu = gpus.length > 0;
  const machine = [
    ["node", `${found.node}, ${found.platform}`],
    ["processor", `${found.cores} cores, ${found.processor}`],
    ["memory", formatBytes(found.memoryBytes)],
    ["GPU", gpu ? gpus.join("; ") : "none that nvidia-smi shows"],
    ["cache", `${cache.folder}: ${cache.native.length === 0 ? "nothing built" : cache.native.join(", ")}`],
  ];
  const headers = ["Backend", "State", "Details", "What to do"];
  const rows = backends.map((probe) => [
    probe.package,
    stateOf(probe),
    detailsOf(probe),
    backendFix(probe, gpu) ?? "-",
  ]);
  const taken = backends.find(({ works }) => works);
  return [
    `remat ${found.remat}`,
    "",
    formatTable(machine),
    "",
    "Backends, best first",
    "",
    formatTable(rows, { headers }),
    "",
    taken === undefined
      ? "No backend works: nothing can be run or measured here; estimates need none."
      : `Used by remat where real steps are run: ${taken.package}${where(taken)}.`,
    ...(taken?.backend === "tensorflow" ? ["", allocatorNote(allocator)] : []),
    "",
    "Versions",
    "",
    formatTable(Object.entries(versions).map(([name, version]) => [name, `v${version}`])),
    "",
  ].join("\n");
}

function allocatorNote(environment: Examination["allocator"]): string {
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  if (settings.length === 0)
    return "The caching allocator is not built, so TensorFlow keeps memory that no tensor needs any more: remat setup native builds it.";
  return `remat trains with the caching allocator, which gives memory back; so does a program of your own by\n  ${settings.join(" ")} node train.js`;
}

function stateOf({ works, missing }: BackendProbe): string {
  if (works) return "works";
  if (missing === "start") return "fails";
  if (missing === "trust") return "not trusted";
  return missing === "module" ? "missing" : `${missing} missing`;
}

function detailsOf({ works, reason, version, tensorflow, usesGpu, gflops }: BackendProbe): string {
  if (!works) return reason ?? "no reason known";
  const facts = [
    `v${version ?? "?"}`,
    ...(tensorflow === undefined ? [] : [`TensorFlow ${tensorflow}${usesGpu ? ", on the GPU" : ""}`]),
    ...(gflops === undefined ? [] : [`${gflops < 10 ? gflops.toFixed(1) : Math.round(gflops)} GFLOP/s`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return facts.join(", ");
}

const where = ({ path }: BackendProbe): string => (path === undefined ? "" : `, from ${path}`);
