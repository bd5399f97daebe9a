import { canBeReloaded, canReturn } from "../graph/planning-graph.js";
import type { Random } from "./random.js";
import type { Schedule } from "./schedule.js";
import { WeightedValues } from "./weighted-values.js";

/** Largest numbers of instances that one move may insert, and may move. */
const mostInsertions = 60;
const mostHoisted = 100;

/**
 * Small changes to a schedule after which it can still run. Each method returns whether it changed anything. @internal
 */
export class Moves {
  private readonly schedule: Schedule;
  private readonly random: Random;
  private readonly isFree: boolean;
  private readonly values: WeightedValues;
  /** A move that raises the cost of the schedule above this limit is abandoned. */
  costLimit: number = Number.POSITIVE_INFINITY;
  /**
   * Probability that a recomputation may insert up to the maximum number of instances, instead of a few times the usual
   * number.
   */
  boldness = 0.1;
  /** Average number of instances inserted by recent recomputations that were accepted. */
  private usualInsertions = 4;
  private insertions = 0;

  constructor(schedule: Schedule, random: Random, isFree: boolean) {
    this.schedule = schedule;
    this.random = random;
    this.isFree = isFree;
    this.values = new WeightedValues(schedule.graph);
  }

  /** At a position over the budget, frees a value that is waiting there, and recomputes it before it is read next. */
  recompute(): boolean {
    this.insertions = 0;
    return this.recomputeOne();
  }

  /** Removes an instance, and frees other values if that exceeds the budget. */
  exchange(): boolean {
    const { schedule, random } = this;
    if (!this.takeOut()) return false;
    for (let i = 0; i < 3 && schedule.overflow > 0; i++) if (!this.recomputeOne() || random.next() < 0.2) break;
    return schedule.cost <= this.costLimit;
  }

  private recomputeOne(): boolean {
    const { schedule, random } = this;
    const x = schedule.pickOverBudget(random.next());
    const w = x < 0 ? -1 : this.pickWaiting(x);
    if (w < 0 || !schedule.canInsert(schedule.graph.producer[w])) return false;
    if (this.choosesReload(schedule.graph.producer[w]))
      return this.reload(schedule.graph.producer[w], schedule.firstUseAfter(w, schedule.keyOf(x)));
    const cap = random.next() < this.boldness ? mostInsertions : Math.min(mostInsertions, 4 * this.usualInsertions);
    const allowed = Math.ceil(cap ** random.next());
    return (
      this.insertWithInputs(schedule.graph.producer[w], schedule.firstUseAfter(w, schedule.keyOf(x)), x, allowed) >= 0
    );
  }

  /**
   * Chooses whether to reload the value of `v` instead of recomputing it: always if it cannot be recomputed, otherwise
   * at random.
   */
  private choosesReload(v: number): boolean {
    const { schedule, random } = this;
    if (schedule.graph.transfers === undefined || !canBeReloaded(schedule.graph, v)) return false;
    return schedule.graph.recomputable[v] === 0 || random.next() < 0.5;
  }

  private reload(v: number, successor: number): boolean {
    this.schedule.insert(v, successor, true);
    this.insertions++;
    return this.schedule.cost <= this.costLimit;
  }

  /** Replaces the recomputation of an instance by a reload, and removes instances that are only needed for it. */
  offloadInstead(): boolean {
    const { schedule } = this;
    this.insertions = 0;
    const x = this.pickExtra();
    if (x < 0 || !this.isMovable(x) || schedule.isReload(x)) return false;
    const v = schedule.nodeOf(x);
    if (schedule.firstCopy(v) === x || !canBeReloaded(schedule.graph, v)) return false;
    const successor = schedule.next(x);
    const inputs = this.boundInputs(x);
    schedule.remove(x);
    schedule.insert(v, successor, true);
    for (const y of inputs) if (this.isUseless(y)) this.removeWithInputs(y);
    return true;
  }

  /** Records that the last move was accepted. Has an effect only if it was a recomputation. */
  noteWorth(): void {
    if (this.insertions > 0) this.usualInsertions += 0.05 * (this.insertions - this.usualInsertions);
  }

  /**
   * At a position over the budget, takes a value that is waiting there. Moves its computation after the position, or
   * its last reader before it.
   */
  relocate(): boolean {
    const { schedule } = this;
    this.insertions = 0;
    const x = schedule.pickOverBudget(this.random.next());
    const w = x < 0 ? -1 : this.pickWaiting(x);
    if (w < 0) return false;
    const key = schedule.keyOf(x);
    const maker = schedule.boundAt(w, key);
    if (this.isMovable(maker)) {
      const limit = this.latest(maker);
      if (limit > key) return this.move(maker, this.successorAhead(x, limit));
    }
    const reader = schedule.lastUserOf(w, maker);
    if (!this.isMovable(reader)) return false;
    const earliest = this.earliest(reader);
    if (earliest < key) return this.move(reader, this.successorBehind(x, earliest));
    return this.isFree && this.hoist(reader, x);
  }

  /** Removes an instance that another one can replace, and instances that are only needed for it. */
  takeOut(): boolean {
    this.insertions = 0;
    const x = this.pickExtra();
    if (x < 0) return false;
    this.removeWithInputs(x);
    return true;
  }

  /** Moves an instance by some steps. */
  shift(): boolean {
    const { schedule, random } = this;
    this.insertions = 0;
    const isAny = this.isFree && (schedule.copies.repeatedCount === 0 || random.next() < 0.5);
    const x = isAny ? schedule.pick(random.next()) : this.pickExtra();
    if (x < 0 || !this.isMovable(x)) return false;
    // Mostly near, sometimes far.
    const steps = Math.floor(Math.min(200, schedule.length) ** random.next());
    let successor = x;
    if (random.next() < 0.5) {
      const limit = this.latest(x);
      successor = schedule.next(x);
      for (let k = 0; k < steps && schedule.keyOf(successor) < limit; k++) {
        const beyond = schedule.next(successor);
        if (beyond < 0) break;
        successor = beyond;
      }
      if (schedule.previous(successor) === x) return false;
    } else {
      const limit = this.earliest(x);
      for (let k = 0; k < steps; k++) {
        const before = schedule.previous(successor);
        if (before < 0 || schedule.keyOf(before) <= limit) break;
        successor = before;
      }
      if (successor === x) return false;
    }
    return this.move(x, successor);
  }

  /** Moves x before `successor`, together with later first instances that x needs. */
  private hoist(x: number, successor: number): boolean {
    const { schedule } = this;
    const key = schedule.keyOf(successor);
    const hoisted: number[] = [];
    const collect = (y: number): boolean => {
      if (hoisted.includes(y)) return true;
      if (y === successor || hoisted.length >= mostHoisted) return false;
      const v = schedule.nodeOf(y);
      for (let i = schedule.nodes.inputStart[v]; i < schedule.nodes.inputStart[v + 1]; i++) {
        const w = schedule.nodes.inputValues[i];
        if (schedule.boundAt(w, key) < 0 && !collect(schedule.firstCopy(schedule.graph.producer[w]))) return false;
      }
      hoisted.push(y);
      return true;
    };
    if (!collect(x)) return false;
    for (const y of hoisted) this.move(y, successor);
    return true;
  }

  private move(x: number, successor: number): boolean {
    const isReload = this.schedule.isReload(x);
    this.schedule.remove(x);
    this.schedule.insert(this.schedule.nodeOf(x), successor, isReload);
    return true;
  }

  /** Returns whether x may be moved. First instances may be moved only if the order of first runs is free. */
  private isMovable(x: number): boolean {
    const { schedule } = this;
    const v = schedule.nodeOf(x);
    return v !== schedule.end && (this.isFree || schedule.firstCopy(v) !== x);
  }

  /** Returns the key of the first reader of x, or of the first reload of its node. */
  private latest(x: number): number {
    const { schedule } = this;
    const v = schedule.nodeOf(x);
    const key = schedule.keyOf(x);
    let limit = Number.POSITIVE_INFINITY;
    for (let i = schedule.nodes.outputStart[v]; i < schedule.nodes.outputStart[v + 1]; i++) {
      const use = schedule.firstUseAfter(schedule.nodes.outputValues[i], key);
      if (use >= 0) limit = Math.min(limit, schedule.keyOf(use));
    }
    if (schedule.firstCopy(v) !== x) return limit;
    for (let j = 1; j < schedule.copies.count[v]; j++)
      if (schedule.isReload(schedule.copyAt(v, j))) return Math.min(limit, schedule.keyOf(schedule.copyAt(v, j)));
    return limit;
  }

  /**
   * Returns the key of the last instance that must come before x: the first instances of its inputs and, in a fixed
   * order, of its own node.
   */
  private earliest(x: number): number {
    const { schedule } = this;
    const v = schedule.nodeOf(x);
    const first = schedule.firstCopy(v);
    if (schedule.isReload(x)) return schedule.keyOf(first);
    let limit = first === x || this.isFree ? -1 : schedule.keyOf(first);
    for (let i = schedule.nodes.inputStart[v]; i < schedule.nodes.inputStart[v + 1]; i++) {
      const input = schedule.firstCopy(schedule.graph.producer[schedule.nodes.inputValues[i]]);
      limit = Math.max(limit, schedule.keyOf(input));
    }
    return limit;
  }

  /** Returns an instance after x, up to the one at key `limit`, usually a near one. */
  private successorAhead(x: number, limit: number): number {
    const { schedule, random } = this;
    let at = schedule.next(x);
    while (schedule.keyOf(at) < limit && random.next() < 0.8) {
      const beyond = schedule.next(at);
      if (beyond < 0) break;
      at = beyond;
    }
    return at;
  }

  /** Returns an instance at or before x, after key `limit`, usually a near one. */
  private successorBehind(x: number, limit: number): number {
    const { schedule, random } = this;
    let at = x;
    while (random.next() < 0.8) {
      const before = schedule.previous(at);
      if (before < 0 || schedule.keyOf(before) <= limit) break;
      at = before;
    }
    return at;
  }

  /**
   * Runs v before `successor`. If an input would then have to stay live across the position `over`, the input's node is
   * usually also run again, as long as `insertions` remain. Returns how many remain, or -1 if it costs too much.
   */
  private insertWithInputs(v: number, successor: number, over: number, insertions: number): number {
    const { schedule, random } = this;
    const { inputStart, inputValues } = schedule.nodes;
    const { producer } = schedule.graph;
    const key = schedule.keyOf(successor);
    const overKey = schedule.keyOf(over);
    const recomputed: number[] = [];
    for (let i = inputStart[v]; i < inputStart[v + 1]; i++) {
      const w = inputValues[i];
      const u = producer[w];
      if (!canReturn(schedule.graph, u) || !schedule.canInsert(u)) continue;
      const lastKey = schedule.keyOf(schedule.lastUserOf(w, schedule.boundAt(w, key)));
      if (lastKey < key && random.next() < (lastKey < overKey ? 0.9 : 0.15)) recomputed.push(u);
    }
    const x = schedule.insert(v, successor);
    this.insertions++;
    if (schedule.cost > this.costLimit) return -1;
    let left = insertions - 1;
    for (const u of recomputed) {
      if (left <= 0) break;
      if (!schedule.canInsert(u)) continue;
      if (!this.choosesReload(u)) left = this.insertWithInputs(u, x, over, left);
      else left = this.reload(u, x) ? left - 1 : -1;
    }
    return left;
  }

  private removeWithInputs(x: number): void {
    const { schedule } = this;
    const inputs = this.boundInputs(x);
    schedule.remove(x);
    for (const y of inputs) if (this.isUseless(y)) this.removeWithInputs(y);
  }

  /** Returns the instances that x reads. */
  private boundInputs(x: number): number[] {
    const { schedule } = this;
    const inputs: number[] = [];
    if (schedule.isReload(x)) return inputs;
    const v = schedule.nodeOf(x);
    const key = schedule.keyOf(x);
    for (let i = schedule.nodes.inputStart[v]; i < schedule.nodes.inputStart[v + 1]; i++)
      inputs.push(schedule.boundAt(schedule.nodes.inputValues[i], key));
    return inputs;
  }

  /** Returns whether nothing reads y and its node also runs elsewhere. */
  private isUseless(y: number): boolean {
    const { schedule } = this;
    const v = schedule.nodeOf(y);
    // It may have been removed already, if it served two inputs.
    if (schedule.copies.count[v] < 2 || !schedule.copies.contains(y) || !this.isMovable(y)) return false;
    return !this.hasReaders(y) && !this.isOffloaded(y);
  }

  /** Returns whether y is the first instance of its node and is reloaded next. */
  private isOffloaded(y: number): boolean {
    const { schedule } = this;
    const v = schedule.nodeOf(y);
    return schedule.firstCopy(v) === y && schedule.copies.count[v] > 1 && schedule.isReload(schedule.copyAt(v, 1));
  }

  private hasReaders(y: number): boolean {
    const { schedule } = this;
    const v = schedule.nodeOf(y);
    for (let i = schedule.nodes.outputStart[v]; i < schedule.nodes.outputStart[v + 1]; i++)
      if (schedule.lastUserOf(schedule.nodes.outputValues[i], y) !== y) return true;
    return false;
  }

  /** Returns an instance that can be removed: a repeated one or, in a free order, a first one that nothing reads. */
  private pickExtra(): number {
    const { schedule, random } = this;
    if (schedule.copies.repeatedCount === 0) return -1;
    const v = schedule.copies.repeated[random.below(schedule.copies.repeatedCount)];
    const first = schedule.firstCopy(v);
    if (this.isFree && !this.hasReaders(first) && !this.isOffloaded(first)) return first;
    return schedule.copyAt(v, 1 + random.below(schedule.copies.count[v] - 1));
  }

  /**
   * Returns a value that is alive at x without being read or made there, and whose node can be recomputed, or -1 if
   * none is found in a few tries.
   */
  private pickWaiting(x: number): number {
    const { schedule } = this;
    const key = schedule.keyOf(x);
    for (let tries = 0; tries < 40; tries++) {
      const w = this.values.pick(this.random.next());
      const maker = schedule.boundAt(w, key);
      if (maker >= 0 && schedule.keyOf(schedule.lastUserOf(w, maker)) > key && !schedule.reads(x, w)) return w;
    }
    return -1;
  }
}
