import { type Module, Trace } from "@remat/trace";

/** Automatic names of tfjs-layers: `dense_Dense12`, `sequential_3`, `model2`. */
const numbered = /^(.*\D)(\d+)$/;
const containers: ReadonlySet<string> = new Set(["sequential_", "model"]);

/**
 * Returns a trace whose unnamed modules are numbered from 1. tfjs-layers keeps counting across the models of a process,
 * so the same model would otherwise have different names each time.
 */
export function withModulesNumbered(trace: Trace): Trace {
  const numbersOf = new Map<string, Set<number>>();
  for (const { fqn, kind } of trace.modules) {
    const [, stem, digits] = numbered.exec(fqn.slice(fqn.lastIndexOf(".") + 1)) ?? [];
    if (stem === undefined || !isAutomatic(stem, kind)) continue;
    const numbers = numbersOf.get(stem) ?? new Set();
    numbersOf.set(stem, numbers.add(Number(digits)));
  }
  const names = new Map<string, string>();
  for (const [stem, numbers] of numbersOf)
    [...numbers].sort((a, b) => a - b).forEach((number, i) => names.set(`${stem}${number}`, `${stem}${i + 1}`));
  const rename = (name: string): string => names.get(name) ?? name;
  // A group of layers is named after its first and last: `conv2d_Conv2D1-flatten_Flatten1`.
  const modules = trace.modules.map((module): Module => ({ ...module, fqn: module.fqn.replace(/[^.-]+/g, rename) }));
  const { header } = trace;
  return new Trace({
    ...trace,
    modules,
    header: { ...header, ...(header.model !== undefined && { model: rename(header.model) }) },
  });
}

/** Returns whether a name is automatic: for a layer, its class in two spellings; for a model, its kind. */
function isAutomatic(stem: string, kind: string): boolean {
  return containers.has(stem) || stem.replaceAll("_", "").toLowerCase() === `${kind}${kind}`.toLowerCase();
}
