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
import { moduleParts } from "./module-parts.js";
import { hasInside, selectiveSets } from "./selective-sets.js";

/** A policy with its simulated memory and time. @internal */
export interface TriedPolicy {
  readonly policy: CheckpointPolicy;
  readonly simulated: SimulatedCheckpoints;
  /** Time added to the step without checkpointing. */
  readonly extraMs: number;
}

type Unit = CheckpointPolicy[number];
/** Chosen units by {@link keyOf}. */
type Chosen = ReadonlyMap<string, Unit>;

/**
 * The same module of different blocks (`h.0.mlp`, `h.1.mlp`) in order, or the parts of such modules, with the ways to
 * checkpoint each of them.
 */
interface UnitClass {
  readonly members: readonly Unit[];
  /** The members, checkpointed in each way. */
  readonly ways: readonly (readonly Unit[])[];
}

/**
 * Searches policies and remembers the best by memory and time. It starts without checkpointing and reduces memory. In
 * each step it makes the change that removes the most memory above the current aim per millisecond, until the aim is
 * met. Then it undoes changes that are not needed. Within a budget, it improves the best known policy: it removes some
 * modules at random, and then adds units in the same way until the budget is met again.
 *
 * @internal
 */
export class PolicySearch {
  /** True if parts of modules are tried as well. */
  hasParts = true;
  private readonly units: CheckpointableUnits;
  private readonly simulator: CheckpointSimulator;
  private readonly opCount: number;
  private readonly classes: readonly UnitClass[];
  private readonly isOver: () => boolean;
  private readonly overlaps: Overlaps;
  private front: TriedPolicy[] = [];
  /**
   * Results by policy, independent of the order of its units, and by the limit above which excess is counted. The
   * search reaches the same policies again and again.
   */
  private readonly known = new Map<string, SimulatedCheckpoints>();

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
    this.overlaps = new Overlaps(units);
  }

  /** Simulates a policy, and keeps it unless another policy is as good in both memory and time. */
  try(policy: CheckpointPolicy, aboveBytes: number = Number.POSITIVE_INFINITY): TriedPolicy {
    const simulated = this.simulate(policy, aboveBytes);
    const tried = { policy, simulated, extraMs: simulated.recomputeMs + simulated.bookkeepingMs };
    const { peakBytes } = simulated;
    if (!this.front.some((one) => one.simulated.peakBytes <= peakBytes && one.extraMs <= tried.extraMs)) {
      this.front = this.front.filter((one) => one.simulated.peakBytes < peakBytes || one.extraMs < tried.extraMs);
      this.front.push(tried);
    }
    return tried;
  }

  private simulate(policy: CheckpointPolicy, aboveBytes: number): SimulatedCheckpoints {
    const key = `${aboveBytes} ${policy.map(textOf).sort().join(" ")}`;
    let simulated = this.known.get(key);
    if (simulated === undefined) {
      simulated = this.simulator.run(callModes(this.units, policy, this.opCount), aboveBytes);
      this.known.set(key, simulated);
    }
    return simulated;
  }

  /** Returns the fastest tried policy with at most this peak, or undefined if none exists. */
  within(budgetBytes: number): TriedPolicy | undefined {
    return this.front
      .filter(({ simulated }) => simulated.peakBytes <= budgetBytes)
      .reduce<TriedPolicy | undefined>((best, one) => (best && best.extraMs <= one.extraMs ? best : one), undefined);
  }

  /** Returns the policies for which no other policy is better in both memory and time, by decreasing peak. */
  tradeOffs(): readonly TriedPolicy[] {
    return this.front.toSorted((a, b) => b.simulated.peakBytes - a.simulated.peakBytes);
  }

  /** The smallest peak of all policies tried. */
  lowestBytes(): number {
    return Math.min(...this.front.map(({ simulated }) => simulated.peakBytes));
  }

  /** Reduces memory until no policy with less memory is found, or `leastBytes` is reached. */
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

  /** Improves the best policy within a budget until `rounds` consecutive rounds bring no improvement. */
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

  /**
   * Repeatedly adds the unit that removes the most excess above `aim` per millisecond, until there is no excess or no
   * unit reduces it.
   */
  private meet(policy: CheckpointPolicy, aim: number): TriedPolicy {
    let present = this.try(policy, aim);
    while (present.simulated.peakBytes > aim && !this.isOver()) {
      let best: TriedPolicy | undefined;
      let bestRate = 0;
      for (const next of this.moves(new Map(present.policy.map((unit) => [keyOf(unit), unit])))) {
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

  /** Removes units that are not needed to meet the aim, the most expensive first. */
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

  /** Yields the possible changes of a choice: adding the next module of a class, or all remaining ones, in each way. */
  private *moves(chosen: Chosen): Generator<Chosen> {
    for (const { members, ways } of this.classes) {
      if (members[0].ops !== undefined && !this.hasParts) continue;
      for (const units of ways) {
        const isFull = units[0].saved.length === 0;
        const isPart = units[0].ops !== undefined;
        // A selectively checkpointed module must not be inside or around another checkpointed module.
        const fits = units.filter((unit) => !chosen.has(keyOf(unit)) && (isFull || !hasAround(chosen, unit.fqn)));
        if (fits.length === 0) continue;
        for (const added of fits.length === 1 ? [fits] : [fits.slice(0, 1), fits]) {
          yield this.withUnits(chosen, added, true);
          if (isFull && !isPart && hasSomeInside(chosen, added)) yield this.withUnits(chosen, added, false);
        }
      }
    }
  }

  /**
   * Adds units. Units inside them are removed, unless they are fully checkpointed. A selective unit must not be inside
   * another unit. A part must not be inside another unit or contain one.
   */
  private withUnits(chosen: Chosen, units: readonly Unit[], isAlone: boolean): Chosen {
    const next = new Map(chosen);
    for (const unit of units) {
      for (const [key, other] of chosen) {
        const isOfParts = unit.ops !== undefined || other.ops !== undefined;
        if (isOfParts ? this.overlaps.are(unit, other) : replaces(unit, other, isAlone)) next.delete(key);
      }
      next.set(keyOf(unit), unit);
    }
    return next;
  }
}

/** Finds units that have ops in common. */
class Overlaps {
  private readonly units: CheckpointableUnits;
  /** For each unit, the first and the last op of each of its calls, in order. */
  private readonly spans = new WeakMap<Unit, readonly (readonly [first: number, last: number])[]>();

  constructor(units: CheckpointableUnits) {
    this.units = units;
  }

  are(one: Unit, other: Unit): boolean {
    const [a, b] = [this.spansOf(one), this.spansOf(other)];
    for (let i = 0, j = 0; i < a.length && j < b.length; ) {
      if (a[i][1] < b[j][0]) i++;
      else if (b[j][1] < a[i][0]) j++;
      else return true;
    }
    return false;
  }

  private spansOf(unit: Unit): readonly (readonly [first: number, last: number])[] {
    let spans = this.spans.get(unit);
    if (spans === undefined) {
      const calls = this.units.callsOf.get(unit.fqn) ?? [];
      spans = calls
        .map((call) =>
          unit.ops === undefined ? this.units.opsOf[call] : this.units.opsOf[call].slice(unit.ops[0], unit.ops[1]),
        )
        .filter((ops) => ops.length > 0)
        .map((ops) => [ops[0], ops.at(-1)!] as const)
        .sort((a, b) => a[0] - b[0]);
      this.spans.set(unit, spans);
    }
    return spans;
  }
}

/** Keys and texts of units. The search needs them again and again. */
const keys = new WeakMap<Unit, string>();
const texts = new WeakMap<Unit, string>();

function keyOf(unit: Unit): string {
  const { fqn, ops } = unit;
  if (ops === undefined) return fqn;
  let key = keys.get(unit);
  if (key === undefined) keys.set(unit, (key = `${fqn}[${ops[0]}:${ops[1]}]`));
  return key;
}

function textOf(unit: Unit): string {
  let text = texts.get(unit);
  if (text === undefined) texts.set(unit, (text = `${keyOf(unit)}:${unit.saved.join()}`));
  return text;
}

/** Factor from one aim to the next. */
const stepDown = 0.95;
/** A change that saves time counts as if it cost this much time. */
const leastMs = 1e-6;

function hasAround(chosen: Chosen, fqn: string): boolean {
  for (const other of chosen.values()) if (other.ops === undefined && standsInside(fqn, other.fqn)) return true;
  return false;
}

/** Returns whether a module that is added takes the place of another one, which is inside or around it. */
function replaces(unit: Unit, other: Unit, isAlone: boolean): boolean {
  const isSelective = other.saved.length > 0;
  return (
    ((isAlone || isSelective) && standsInside(other.fqn, unit.fqn)) ||
    (isSelective && standsInside(unit.fqn, other.fqn))
  );
}

function hasSomeInside(chosen: Chosen, added: readonly Unit[]): boolean {
  for (const other of chosen.values())
    if (isWhole(other) && added.some(({ fqn }) => standsInside(other.fqn, fqn))) return true;
  return false;
}

function isWhole({ saved, ops }: Unit): boolean {
  return saved.length === 0 && ops === undefined;
}

function classesOf(simulator: CheckpointSimulator, units: CheckpointableUnits): UnitClass[] {
  const { script } = simulator;
  const modules = alikeModules(simulator, units, units.fqns).map((members): UnitClass => {
    const isLarge = hasInside(members[0], units.fqns);
    const whole = members.map(fullUnit);
    const sets = isLarge ? selectiveSets(script, units, members[0]) : [];
    return { members: whole, ways: [whole, ...sets.map((saved) => whole.map((unit) => ({ ...unit, saved })))] };
  });
  // If a module cannot run again as a whole, some of its parts may.
  const all = alikeModules(simulator, units, [...units.callsOf.keys()]);
  return [...modules, ...moduleParts(script, units, all).map((members): UnitClass => ({ members, ways: [members] }))];
}

/**
 * Returns groups of modules: the same module of different blocks, if they run the same ops. A position then refers to
 * the same op in each of them.
 */
function alikeModules(
  { script }: CheckpointSimulator,
  units: CheckpointableUnits,
  fqns: readonly string[],
): string[][] {
  const { name } = script.trace.ops;
  const classes = new Map<string, string[]>();
  for (const fqn of fqns) {
    const ops = (units.callsOf.get(fqn) ?? []).map((call) => units.opsOf[call].map((op) => name[op]).join());
    const key = `${fqn.replace(/\.\d+(?=\.|$)/g, ".*")} ${ops.join(" ")}`;
    classes.set(key, [...(classes.get(key) ?? []), fqn]);
  }
  return [...classes.values()];
}
