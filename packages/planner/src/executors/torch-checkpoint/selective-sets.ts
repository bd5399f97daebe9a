import { type CheckpointableUnits, type StepScript, standsInside } from "@remat/memory/checkpointing";
import { OpFlag, type OpIndex } from "@remat/trace";

/** Numbers of ops to save in a module. Each set contains the most valuable ops. */
const setSizes: readonly number[] = [1, 2, 3, 4, 6, 8];

/**
 * Returns sets of ops that are worth saving in a module: those whose recomputation is most expensive per byte saved.
 * PyTorch saves neither views nor tensors that are written into later.
 *
 * @internal
 */
export function selectiveSets(script: StepScript, units: CheckpointableUnits, fqn: string): number[][] {
  const { trace, bytes } = script;
  const calls = units.callsOf.get(fqn) ?? [];
  const ops = units.opsOf[calls[0]] ?? [];
  if (calls.some((call) => units.callsReadAgain.has(call))) return [];
  // Positions identify the same ops in every call only if all calls run the same ops.
  if (calls.some((call) => !isSame(units.opsOf[call], ops, trace.ops.name))) return [];
  const worth = ops.flatMap((op, place) => {
    const made = units.madeBy(op);
    const size = made.reduce((sum, storage) => sum + bytes[storage], 0);
    const isWritten = made.some((storage) => units.isWritten[storage] === 1);
    if (size === 0 || isWritten || trace.ops.flags[op] & (OpFlag.view | OpFlag.inPlace | OpFlag.random)) return [];
    return [{ place, perByte: units.runtimeMs[op] / size }];
  });
  worth.sort((a, b) => b.perByte - a.perByte || a.place - b.place);
  return setSizes
    .filter((count) => count < worth.length)
    .map((count) =>
      worth
        .slice(0, count)
        .map(({ place }) => place)
        .sort((a, b) => a - b),
    );
}

function isSame(ops: readonly OpIndex[], others: readonly OpIndex[], name: Int32Array): boolean {
  return ops.length === others.length && ops.every((op, i) => name[op] === name[others[i]]);
}

/** Returns whether a module has submodules among `fqns`. @internal */
export function hasInside(fqn: string, fqns: readonly string[]): boolean {
  return fqns.some((other) => standsInside(other, fqn));
}
