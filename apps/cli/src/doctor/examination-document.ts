import { findPackage } from "@remat/dispatch-hook/backends/node";
import { formatBytes } from "@remat/reporting";
import { type DocumentPart, type OutputDocument } from "@remat/reporting/formats";
import { backendFix } from "./backend-fix.js";
import type { Examination } from "./examine.js";
import type { BackendProbe } from "./probe-backend.js";

/** Returns the results of `remat doctor`. The records have one row for each backend. */
export function examinationDocument(found: Examination): OutputDocument {
  const { backends, versions, allocator } = found;
  const hasGpu = found.gpus.length > 0;
  const taken = backends.find(({ works }) => works);
  return {
    parts: () => [
      textOf(`remat ${found.remat}`),
      { kind: "table", headers: [], rows: machineRows(found) },
      {
        kind: "table",
        title: "Backends, best first",
        headers: ["Backend", "State", "Details", "Fix"],
        worth: [9, 8, 6, 7],
        rows: backends.map((probe) => [
          probe.package,
          stateOf(probe),
          detailsOf(probe),
          backendFix(probe, hasGpu) ?? "-",
        ]),
      },
      textOf(
        taken === undefined
          ? "No backend works, so nothing can run or be measured here. Estimates need no backend."
          : `remat runs real steps on ${taken.package}${where(taken)}.`,
      ),
      ...(taken !== undefined && findPackage(taken.package)?.built !== undefined ? [allocatorNote(allocator)] : []),
      {
        kind: "table",
        title: "Versions",
        headers: [],
        rows: Object.entries(versions).map(([name, version]) => [name, `v${version}`]),
      },
    ],
    records: () => ({
      columns: ["package", "backend", "state", "works", "version", "tensorflow", "usesGpu", "gflops", "reason", "fix"],
      rows: backends.map((probe) => [
        probe.package,
        probe.backend,
        stateOf(probe),
        probe.works,
        probe.version,
        probe.tensorflow,
        probe.usesGpu,
        probe.gflops,
        probe.reason,
        backendFix(probe, hasGpu),
      ]),
    }),
    value: () => ({ ...found, backends: backends.map((probe) => ({ ...probe, fix: backendFix(probe, hasGpu) })) }),
  };
}

const textOf = (text: string): DocumentPart => ({ kind: "text", lines: [text] });

function machineRows({ node, platform, cores, processor, memoryBytes, gpus, cache }: Examination): string[][] {
  return [
    ["node", `${node}, ${platform}`],
    ["processor", `${cores} cores, ${processor}`],
    ["memory", formatBytes(memoryBytes)],
    ["GPU", gpus.length > 0 ? gpus.join("; ") : "none shown by nvidia-smi"],
    ["cache", `${cache.folder}: ${cache.native.length === 0 ? "nothing built" : cache.native.join(", ")}`],
  ];
}

function allocatorNote(environment: Examination["allocator"]): DocumentPart {
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  if (settings.length === 0)
    return textOf(
      "The caching allocator is not built, so TensorFlow keeps memory after tensors are freed. Build it with remat setup native.",
    );
  return {
    kind: "listing",
    caption: "remat trains with the caching allocator, which returns freed memory. To use it in your own program:",
    // On one line, to be copied.
    text: () => `  ${settings.join(" ")} node train.js`,
  };
}

function stateOf({ works, missing }: BackendProbe): string {
  if (works) return "works";
  if (missing === "start") return "fails";
  if (missing === "trust") return "not trusted";
  return missing === "module" ? "missing" : `${missing} missing`;
}

function detailsOf({ works, reason, version, tensorflow, usesGpu, gflops }: BackendProbe): string {
  if (!works) return reason ?? "unknown reason";
  const facts = [
    `v${version ?? "?"}`,
    ...(tensorflow === undefined ? [] : [`TensorFlow ${tensorflow}${usesGpu ? ", on the GPU" : ""}`]),
    ...(gflops === undefined ? [] : [`${gflops < 10 ? gflops.toFixed(1) : Math.round(gflops)} GFLOP/s`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return facts.join(", ");
}

const where = ({ path }: BackendProbe): string => (path === undefined ? "" : `, from ${path}`);
