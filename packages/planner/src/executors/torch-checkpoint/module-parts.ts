import {
  type CheckpointableUnits,
  type CheckpointPolicy,
  type StepScript,
  standsInside,
} from "@remat/memory/checkpointing";
import type { CallIndex, OpIndex } from "@remat/trace";

/** Numbers of parts that a module is cut into. */
const counts: readonly number[] = [2, 3, 4, 6, 8, 12, 16, 24];
/** Smallest number of ops in a module that is cut. */
const fewestOps = 4;
/** A module is cut only if it has at least this share of the tensors saved in the forward pass. */
const leastShare = 0.04;
/** Maximum number of modules that are cut. The same module of different blocks counts once. */
const mostModules = 8;

/**
 * Returns ways to cut modules into parts. Each way contains the parts of all similar modules. The parts of a module
 * save about equally many bytes, and only few bytes pass from one part to the next. A part can be a function that
 * `forward` calls, or several consecutive modules.
 *
 * @param alike lists of modules that run the same ops
 * @internal
 */
export function moduleParts(
  script: StepScript,
  units: CheckpointableUnits,
  alike: readonly (readonly string[])[],
): CheckpointPolicy[] {
  const savedBytes = bytesSaved(script);
  const total = savedBytes.reduce((sum, bytes) => sum + bytes, 0);
  const weighed = alike
    .filter(([fqn]) => isAlwaysSame(script, units, fqn))
    .map((members) => ({ members, bytes: bytesIn(members, units, savedBytes) }));
  const large = weighed.filter(
    ({ members, bytes }) =>
      bytes >= leastShare * total &&
      (units.opsOf[units.callsOf.get(members[0])![0]]?.length ?? 0) >= fewestOps &&
      !weighed.some(
        (other) => bytes <= other.bytes * 1.02 && members.some((fqn) => standsInside(fqn, other.members[0])),
      ),
  );
  large.sort((a, b) => b.bytes - a.bytes);
  return large.slice(0, mostModules).flatMap(({ members }) => {
    const [call] = units.callsOf.get(members[0])!;
    const cuts = new Set<string>();
    return counts.flatMap((count) => {
      const places = cutPlaces(script, units, call, { savedBytes, count });
      if (places === undefined || cuts.has(places.join())) return [];
      cuts.add(places.join());
      const parts = members.flatMap((fqn) => partsBetween(units, fqn, places));
      return parts.length === 0 ? [] : [parts];
    });
  });
}

/** Returns whether all calls of a module run the same ops. */
function isAlwaysSame({ trace }: StepScript, units: CheckpointableUnits, fqn: string): boolean {
  const [first, ...rest] = (units.callsOf.get(fqn) ?? []).map((call) => units.opsOf[call]);
  const { name } = trace.ops;
  return rest.every((ops) => ops.length === first.length && ops.every((op, i) => name[op] === name[first[i]]));
}

function partsBetween(units: CheckpointableUnits, fqn: string, places: readonly number[]): CheckpointPolicy[number][] {
  const parts: CheckpointPolicy[number][] = [];
  for (let i = 0; i + 1 < places.length; i++) {
    const [begin, end] = [places[i], places[i + 1]];
    const kept = keptInCalls(units, fqn, begin, end);
    if (kept !== undefined) parts.push({ fqn, saved: [], ops: kept.length === 0 ? [begin, end] : [begin, end, kept] });
  }
  return parts;
}

/**
 * Returns the positions of the ops whose results are kept in a part, for all calls of a module, or undefined if the
 * part cannot run again in one of them.
 */
function keptInCalls(
  units: CheckpointableUnits,
  fqn: string,
  begin: number,
  end: number,
): readonly number[] | undefined {
  const calls = units.callsOf.get(fqn) ?? [];
  const all = new Set<number>();
  for (const call of calls) {
    const kept = units.keptIn(call, begin, end);
    if (kept === undefined) return undefined;
    for (const place of kept) all.add(place);
  }
  const kept = [...all].sort((a, b) => a - b);
  const isThere = calls.every((call) => typeof units.partOf(call, begin, end, kept) !== "string");
  return isThere ? kept : undefined;
}

/**
 * Finds the positions at which to cut a call into `count` parts. Each cut is close to an equal share of saved bytes, at
 * a place where few bytes pass.
 */
function cutPlaces(
  script: StepScript,
  units: CheckpointableUnits,
  call: CallIndex,
  { savedBytes, count }: { readonly savedBytes: Float64Array; readonly count: number },
): readonly number[] | undefined {
  const ops = units.opsOf[call];
  if (ops.length < count) return undefined;
  const saved = new Float64Array(ops.length + 1);
  ops.forEach((op, place) => {
    saved[place + 1] = saved[place] + units.madeBy(op).reduce((sum, storage) => sum + savedBytes[storage], 0);
  });
  const crossing = bytesAcross(script, units, ops);
  const all = saved[ops.length];
  if (all === 0) return undefined;
  const places = [0];
  for (let part = 1; part < count; part++) {
    const wanted = (all * part) / count;
    let best = -1;
    let bestCost = Number.POSITIVE_INFINITY;
    for (let place = places.at(-1)! + 1; place < ops.length; place++) {
      const off = Math.abs(saved[place] - wanted);
      if (off > all / count / 2) continue;
      const cost = crossing[place] + off;
      if (cost < bestCost) [best, bestCost] = [place, cost];
    }
    if (best >= 0) places.push(best);
  }
  return places.length < 2 ? undefined : [...places, ops.length];
}

/** Returns, for each position among some ops, the bytes created before the position and read at or after it. */
function bytesAcross({ trace, bytes }: StepScript, units: CheckpointableUnits, ops: readonly OpIndex[]): Float64Array {
  const madeAt = new Map<number, number>();
  const lastRead = new Map<number, number>();
  ops.forEach((op, place) => {
    for (const storage of units.madeBy(op)) madeAt.set(storage, place);
    for (const tensor of trace.opInputs(op))
      for (const storage of trace.tensorStorages(tensor)) lastRead.set(storage, place);
  });
  const across = new Float64Array(ops.length + 1);
  for (const [storage, made] of madeAt)
    for (let place = made + 1; place <= (lastRead.get(storage) ?? -1); place++) across[place] += bytes[storage];
  return across;
}

/** Returns the size of each storage that autograd saves and an op creates. 0 for other storages. */
function bytesSaved({ savedStorage, bytes, maker }: StepScript): Float64Array {
  const found = new Float64Array(bytes.length);
  for (const storage of savedStorage) if (maker[storage] >= 0) found[storage] = bytes[storage];
  return found;
}

function bytesIn(members: readonly string[], units: CheckpointableUnits, savedBytes: Float64Array): number {
  let sum = 0;
  for (const fqn of members)
    for (const call of units.callsOf.get(fqn) ?? [])
      for (const op of units.opsOf[call]) for (const storage of units.madeBy(op)) sum += savedBytes[storage];
  return sum;
}
