import {
  type CheckpointableUnits,
  type CheckpointPolicy,
  type CheckpointSimulator,
  callModes,
  type SimulatedCheckpoints,
  standsInside,
} from "@remat/memory/checkpointing";
import { Random } from "../../schedule/random.js";
import { fullUnit } from "./hand-policies.js";
import { hasInside, selectiveSets } from "./selective-sets.js";

/** A policy with what it comes to. @internal */
export interface TriedPolicy {
  readonly policy: CheckpointPolicy;
  readonly simulated: SimulatedCheckpoints;
  /** Time beyond that of the step without checkpointing. */
  readonly extraMs: number;
}

type Unit = CheckpointPolicy[number];
type Chosen = ReadonlyMap<string, Unit>;

/** Modules that stand at the same place of different blocks (`h.0.mlp`, `h.1.mlp`), in order, and the ways to checkpoint each. */
interface UnitClass {
  readonly members: readonly string[];
  readonly ways: readonly (readonly number[])[];
}

/**
 * Searches policies, and remembers the best by memory and time of all that it tries. It goes down in memory from none: the change that takes most
 * off what lies above the present aim, by the millisecond, is made until the aim is met; what is then not needed is taken back. Within a budget it goes on from
 * the best known: some modules at random are taken out, and the gap is closed again in the same way.
 *
 * @internal
 */
export class PolicySearch {
  private readonly units: CheckpointableUnits;
  private readonly simulator: CheckpointSimulator;
  private readonly opCount: number;
  private readonly classes: readonly UnitClass[];
  private readonly isOver: () => boolean;
  private front: TriedPolicy[] = [];

  constructor(
    simulator: CheckpointSimulator,
    units: CheckpointableUnits,
    { opCount, isOver }: { readonly opCount: number; readonly isOver: () => boolean },
  ) {
    this.simulator = simulator;
    this.units = units;
    this.opCount = opCount;
    this.isOver = isOver;
    this.classes = classesOf(simulator, units);
  }

  /** Simulates a policy, and keeps it where none that was tried is as good in both memory and time. */
  try(policy: CheckpointPolicy, aboveBytes: number = Number.POSITIVE_INFINITY): TriedPolicy {
    const simulated = this.simulator.run(callModes(this.units, policy, this.opCount), aboveBytes);
    const tried = { policy, simulated, extraMs: simulated.recomputeMs + simulated.bookkeepingMs };
    const { peakBytes } = simulated;
    if (!this.front.some((one) => one.simulated.peakBytes <= peakBytes && one.extraMs <= tried.extraMs)) {
      this.front = this.front.filter((one) => one.simulated.peakBytes < peakBytes || one.extraMs < tried.extraMs);
      this.front.push(tried);
    }
    return tried;
  }

  /** The quickest of those tried that hold at most so much; undefined where there is none. */
  within(budgetBytes: number): TriedPolicy | undefined {
    return this.front
      .filter(({ simulated }) => simulated.peakBytes <= budgetBytes)
      .reduce<TriedPolicy | undefined>((best, one) => (best && best.extraMs <= one.extraMs ? best : one), undefined);
  }

  /** Of all tried, those with nothing as good in both, by falling peak. */
  tradeOffs(): readonly TriedPolicy[] {
    return this.front.toSorted((a, b) => b.simulated.peakBytes - a.simulated.peakBytes);
  }

  /** The smallest peak of all tried. */
  lowestBytes(): number {
    return Math.min(...this.front.map(({ simulated }) => simulated.peakBytes));
  }

  /** Goes down in memory until nothing is found that holds less, or less than `leastBytes` is not asked for. */
  descend(leastBytes: number): void {
    let present = this.try([]);
    let aim = present.simulated.peakBytes;
    while (aim > leastBytes && !this.isOver()) {
      aim = Math.max(leastBytes, Math.min(aim, present.simulated.peakBytes) * stepDown);
      const better = this.within(aim);
      const start = better !== undefined && better.extraMs < present.extraMs ? better : present;
      const met = this.meet(start.policy, aim);
      if (met.simulated.peakBytes > aim) return;
      present = this.thin(met, aim);
      if (aim === leastBytes) return;
    }
  }

  /** Improves what is known within a budget until `rounds` in a row bring nothing. */
  improve(budgetBytes: number, rounds: number, seed: number): void {
    const random = new Random(seed);
    for (let idle = 0; idle < rounds && !this.isOver(); idle++) {
      const best = this.within(budgetBytes);
      if (best === undefined || best.policy.length === 0) return;
      const count = 1 + random.below(Math.min(4, best.policy.length));
      const out = new Set(Array.from({ length: count }, () => random.below(best.policy.length)));
      const met = this.meet(
        best.policy.filter((_, i) => !out.has(i)),
        budgetBytes,
      );
      if (met.simulated.peakBytes <= budgetBytes) this.thin(met, budgetBytes);
      if (this.within(budgetBytes)!.extraMs < best.extraMs) idle = -1;
    }
  }

  /** Adds what takes most off the excess above `aim` by the millisecond, until there is none, or nothing that takes any off. */
  private meet(policy: CheckpointPolicy, aim: number): TriedPolicy {
    let present = this.try(policy, aim);
    while (present.simulated.peakBytes > aim && !this.isOver()) {
      let best: TriedPolicy | undefined;
      let bestRate = 0;
      for (const next of this.moves(new Map(present.policy.map((unit) => [unit.fqn, unit])))) {
        const tried = this.try([...next.values()], aim);
        const gain = present.simulated.excess - tried.simulated.excess;
        if (gain <= 0) continue;
        const rate = gain / Math.max(tried.extraMs - present.extraMs, leastMs);
        if (rate > bestRate) [best, bestRate] = [tried, rate];
        if (this.isOver()) break;
      }
      if (best === undefined) return present;
      present = best;
    }
    return present;
  }

  /** Takes back, dearest first, what the aim is met without, and where it can saves some of a module again. */
  private thin(met: TriedPolicy, aim: number): TriedPolicy {
    let present = met;
    const alone = present.policy.map((unit) => ({
      unit,
      without: this.try(
        present.policy.filter((u) => u !== unit),
        aim,
      ),
    }));
    alone.sort((a, b) => a.without.extraMs - b.without.extraMs);
    for (const { unit } of alone) {
      const without = this.try(
        present.policy.filter((one) => one !== unit),
        aim,
      );
      if (without.simulated.peakBytes <= aim && without.extraMs < present.extraMs) present = without;
      if (this.isOver()) break;
    }
    return present;
  }

  /** What can be changed of a choice: the next module of a class, or all that are left of it, in each way. */
  private *moves(chosen: Chosen): Generator<Chosen> {
    for (const { members, ways } of this.classes) {
      const left = members.filter((fqn) => !chosen.has(fqn));
      for (const saved of ways) {
        const isFull = saved.length === 0;
        // Selective checkpointing of a module goes with none around it and none in it.
        const fits = isFull ? left : left.filter((fqn) => !hasAround(chosen, fqn));
        if (fits.length === 0) continue;
        for (const added of fits.length === 1 ? [fits] : [fits.slice(0, 1), fits]) {
          const units = added.map((fqn) => (isFull ? fullUnit(fqn) : { fqn, saved }));
          yield withUnits(chosen, units, true);
          if (isFull && hasSomeInside(chosen, added)) yield withUnits(chosen, units, false);
        }
      }
    }
  }
}

/** From one aim to the next. */
const stepDown = 0.95;
/** What saves time counts as if it took this much. */
const leastMs = 1e-6;

function hasAround(chosen: Chosen, fqn: string): boolean {
  for (const other of chosen.keys()) if (standsInside(fqn, other)) return true;
  return false;
}

function hasSomeInside(chosen: Chosen, fqns: readonly string[]): boolean {
  for (const other of chosen.values())
    if (other.saved.length === 0 && fqns.some((fqn) => standsInside(other.fqn, fqn))) return true;
  return false;
}

/** Adds units; those inside them are left out, or stay, where they are full. What is selective has none around it. */
function withUnits(chosen: Chosen, units: readonly Unit[], isAlone: boolean): Chosen {
  const next = new Map(chosen);
  for (const unit of units) {
    for (const other of chosen.values()) {
      const isInner = standsInside(other.fqn, unit.fqn);
      const isOuter = standsInside(unit.fqn, other.fqn);
      if ((isInner && (isAlone || other.saved.length > 0)) || (isOuter && other.saved.length > 0))
        next.delete(other.fqn);
    }
    next.set(unit.fqn, unit);
  }
  return next;
}

function classesOf(simulator: CheckpointSimulator, units: CheckpointableUnits): UnitClass[] {
  const { name } = simulator.script.trace.ops;
  const classes = new Map<string, string[]>();
  for (const fqn of units.fqns) {
    // What is saved is told by place, so that only modules that run the same ops are of one class.
    const ops = (units.callsOf.get(fqn) ?? []).map((call) => units.opsOf[call].map((op) => name[op]).join());
    const key = `${fqn.replace(/\.\d+(?=\.|$)/g, ".*")} ${ops.join(" ")}`;
    classes.set(key, [...(classes.get(key) ?? []), fqn]);
  }
  return [...classes.values()].map((members) => {
    const isLarge = hasInside(members[0], units.fqns);
    return { members, ways: [[], ...(isLarge ? selectiveSets(simulator.script, units, members[0]) : [])] };
  });
}
