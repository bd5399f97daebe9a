import { Phase, type Trace } from "@remat/trace";

/** A part of a module: a range of a call's ops, the end exclusive. */
type Part = readonly [begin: number, end: number, kept?: readonly number[]];

/**
 * Returns for each part of a module where it begins and ends: the modules of its first and last op, such as `2.b` and
 * `3.a`. For an op of the module's own code, the op itself is named.
 *
 * @param module its name within the model; the model itself is `""`
 */
export function placesOfParts(
  trace: Trace,
  module: string,
  parts: readonly Part[],
): readonly (readonly [from: string, to: string])[] {
  const { calls, modules, ops } = trace;
  const isUnit = (fqn: string): boolean => nameInModel(fqn) === module;
  const call = calls.module.findIndex((one) => isUnit(modules[one].fqn));
  const all: number[] = [];
  for (let op = 0; op < ops.count; op++)
    if (ops.phase[op] === Phase.forward && trace.opCalls(op).includes(call)) all.push(op);
  const placeOf = (op: number): string => {
    const inner = Array.from(trace.opCalls(op), (one) => nameInModel(modules[calls.module[one]].fqn)).at(-1) ?? module;
    return inner === module ? `${trace.opName(op)}${module === "" ? "" : ` of ${module}`}` : inner;
  };
  return parts.map(([begin, end]) => [placeOf(all[begin]), placeOf(all[end - 1])] as const);
}

/** `Net.layers.0` is `layers.0` in the model, and `Net` is the model itself. */
function nameInModel(fqn: string): string {
  const dot = fqn.indexOf(".");
  return dot < 0 ? "" : fqn.slice(dot + 1);
}
