import { plainOrder } from "../bound/plain-order.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { maxCopies } from "../schedule/instances.js";
import { Random } from "../schedule/random.js";

/** Number of values to examine before freeing one of them. */
const samples = 32;
/** If none of those can be freed: how many more to examine each time, and in total per node. */
const moreSamples = { each: 1000, perNode: 20 };
/** Maximum number of nodes that may run again for one value. */
const mostAgain = 8;

/**
 * Creates a schedule in one pass over the plain order. At points above the budget, it frees values until right before
 * their next use. It chooses values that cost little to recompute, or to offload and reload, per byte and per step of
 * absence. The inputs of their recomputation stay live until then, so that nothing is recomputed twice for one reader,
 * in a graph of any shape. If that is not enough, the budget is exceeded by as little as necessary.
 *
 * Values are sampled at random, so that the time per value does not grow with the size of the graph. @internal
 */
export function freeUntilNextUse(graph: PlanningGraph, budgetBytes: number, seed = 0): Int32Array {
  return new Pass(graph, budgetBytes, new Random(seed)).run();
}

/** One pass over the plain order. `now` is the current node. */
class Pass {
  private readonly graph: PlanningGraph;
  private readonly random: Random;
  private now = 0;
  /** The current limit: the budget, or more after the budget could not be met. */
  private limitBytes: number;
  private heldBytes: number;
  private readonly sequence: number[] = [];
  private readonly lastUse: Int32Array;
  /** For each value, its next reader in the plain order, as an index into the consumers. */
  private readonly nextUse: Int32Array;
  /** For each value, the time until which it is needed to recompute freed values. */
  private readonly neededUntil: Int32Array;
  /** The live values in any order, and the position of each value in that list, or -1 for values that are not live. */
  private readonly held: Int32Array;
  private readonly placeOf: Int32Array;
  private heldCount = 0;
  /**
   * Linked lists of the values recomputed before each node: for each node the first value, and for each value the next
   * value and the node.
   */
  private readonly firstAgain: Int32Array;
  private readonly nextAgain: Int32Array;
  private readonly againAt: Int32Array;
  /** For the value examined last: the nodes that have to run again, and their inputs that are live. */
  private readonly again: number[] = [];
  private readonly sources: number[] = [];
  private readonly lookedAt: Int32Array;
  /** For each node, an upper bound on how many times it will have run once all freed values are back. */
  private readonly runs: Int32Array;
  /** For each value, 1 if it was offloaded, so that it is reloaded whenever it is missing. */
  private readonly isOnHost: Uint8Array;
  private looks = 0;
  private samplesLeft: number;

  constructor(graph: PlanningGraph, budgetBytes: number, random: Random) {
    this.graph = graph;
    this.random = random;
    const { nodeCount, valueCount, consumers } = graph;
    this.limitBytes = budgetBytes;
    this.samplesLeft = moreSamples.perNode * nodeCount;
    this.heldBytes = graph.baseBytes;
    this.lastUse = plainOrder(graph).lastUse;
    this.nextUse = consumers.start.slice(0, valueCount);
    this.neededUntil = new Int32Array(valueCount).fill(-1);
    this.held = new Int32Array(valueCount);
    this.placeOf = new Int32Array(valueCount).fill(-1);
    this.firstAgain = new Int32Array(nodeCount + 1).fill(-1);
    this.nextAgain = new Int32Array(valueCount);
    this.againAt = new Int32Array(valueCount).fill(-1);
    this.lookedAt = new Int32Array(nodeCount);
    this.runs = new Int32Array(nodeCount).fill(1);
    this.isOnHost = new Uint8Array(valueCount);
  }

  run(): Int32Array {
    const { nodeCount } = this.graph;
    for (this.now = 0; this.now <= nodeCount; this.now++) {
      const from = this.sequence.length;
      for (let w = this.firstAgain[this.now]; w >= 0; w = this.nextAgain[w]) this.recompute(w);
      if (this.now < nodeCount) this.execute(this.now);
      for (let p = from; p < this.sequence.length; p++) this.freeUnneeded(this.sequence[p]);
    }
    return Int32Array.from(this.sequence);
  }

  private execute(v: number): void {
    const { outputs, bytes, workspaceBytes } = this.graph;
    let added = workspaceBytes[v];
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) {
      this.keepUntil(outputs.values[i], this.now);
      if (!this.isHeld(outputs.values[i])) added += bytes[outputs.values[i]];
    }
    this.makeRoom(added);
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) this.hold(outputs.values[i]);
    this.sequence.push(v);
  }

  /** Recomputes a value that is read now, with everything that it needs. */
  private recompute(value: number): void {
    const { producer, inputs } = this.graph;
    const pending = [value];
    while (pending.length > 0) {
      const count = pending.length;
      if (this.isHeld(pending[count - 1])) {
        pending.pop();
        continue;
      }
      const v = producer[pending[count - 1]];
      if (this.isOnHost[pending[count - 1]] === 1) {
        this.reload(v);
        continue;
      }
      for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++)
        if (!this.isHeld(inputs.values[i])) pending.push(inputs.values[i]);
      if (pending.length > count) continue;
      this.execute(v);
    }
  }

  private reload(v: number): void {
    const { start, values } = this.graph.outputs;
    const value = values[start[v]];
    this.keepUntil(value, this.now);
    this.makeRoom(this.graph.bytes[value]);
    this.hold(value);
    this.sequence.push(~v);
  }

  private makeRoom(bytes: number): void {
    while (this.heldBytes + bytes > this.limitBytes) {
      const w = this.cheapestOf(samples) ?? this.anyOfMore();
      if (w === undefined) this.limitBytes = this.heldBytes + bytes;
      else this.freeUntilRead(w);
    }
  }

  /** Samples live values and returns the one with the lowest price, or undefined if none can be freed. */
  private cheapestOf(count: number): number | undefined {
    let best: number | undefined;
    let bestPrice = Number.POSITIVE_INFINITY;
    for (let k = 0; k < count && this.heldCount > 0; k++) {
      const w = this.held[this.random.below(this.heldCount)];
      const price = this.priceOf(w);
      if (price >= bestPrice) continue;
      best = w;
      bestPrice = price;
    }
    return best;
  }

  private anyOfMore(): number | undefined {
    const most = Math.min(moreSamples.each, this.samplesLeft);
    for (let k = 0; k < most; k += samples) {
      this.samplesLeft -= samples;
      const w = this.cheapestOf(samples);
      if (w !== undefined) return w;
    }
    return undefined;
  }

  /**
   * Returns the cost of reloading a live value, plus the cost of offloading it if that has not happened yet. Infinite
   * if this is impossible.
   */
  private transferCost(w: number): number {
    const { transfers, producer } = this.graph;
    const v = producer[w];
    if (transfers === undefined || this.runs[v] === maxCopies) return Number.POSITIVE_INFINITY;
    return transfers.reload[v] + (this.isOnHost[w] === 1 ? 0 : transfers.offload[v]);
  }

  /**
   * Returns the cost of recomputing or reloading a live value per byte and per step of absence, or infinite if it
   * cannot be freed.
   */
  private priceOf(w: number): number {
    const to = this.readerOf(w);
    const bytes = this.graph.bytes[w];
    if (to <= this.now || this.neededUntil[w] >= this.now || bytes === 0) return Number.POSITIVE_INFINITY;
    return Math.min(this.lookAt(w, to), this.transferCost(w)) / (bytes * (to - this.now));
  }

  /**
   * Returns the next node, from `now` on, that reads a value. If there is none, returns the number of nodes for a
   * result, and -1 for other values.
   */
  private readerOf(w: number): number {
    const { consumers, result, nodeCount } = this.graph;
    const end = consumers.start[w + 1];
    while (this.nextUse[w] < end && consumers.values[this.nextUse[w]] < this.now) this.nextUse[w]++;
    return this.nextUse[w] < end ? consumers.values[this.nextUse[w]] : result[w] === 1 ? nodeCount : -1;
  }

  /**
   * Finds the nodes and inputs needed to recompute a value at a given time. Returns the cost, or infinite if it takes
   * too many nodes or is impossible.
   */
  private lookAt(w: number, time: number): number {
    const { producer, inputs, cost, recomputable } = this.graph;
    const { again, sources, lookedAt } = this;
    const look = ++this.looks;
    again.length = 1;
    sources.length = 0;
    again[0] = producer[w];
    lookedAt[producer[w]] = look;
    let sum = 0;
    for (let k = 0; k < again.length; k++) {
      const v = again[k];
      if (recomputable[v] === 0 || this.runs[v] === maxCopies || k >= mostAgain) return Number.POSITIVE_INFINITY;
      sum += cost[v];
      for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) {
        const x = inputs.values[i];
        if (this.isHeld(x) && Math.max(this.lastUse[x], this.neededUntil[x]) >= time) sources.push(x);
        else if (lookedAt[producer[x]] !== look) {
          lookedAt[producer[x]] = look;
          again.push(producer[x]);
        }
      }
    }
    return sum;
  }

  private freeUntilRead(w: number): void {
    const to = this.readerOf(w);
    if (this.transferCost(w) <= this.lookAt(w, to)) {
      this.isOnHost[w] = 1;
      this.runs[this.graph.producer[w]]++;
    } else {
      for (const x of this.sources) this.keepUntil(x, to);
      for (const v of this.again) this.runs[v]++;
    }
    // A value that was recomputed for another value may be freed again for the same reader.
    if (this.againAt[w] !== to) {
      this.againAt[w] = to;
      this.nextAgain[w] = this.firstAgain[to];
      this.firstAgain[to] = w;
    }
    this.release(w);
  }

  /** Frees the inputs and outputs of a node that are no longer needed. */
  private freeUnneeded(step: number): void {
    const { inputs, outputs } = this.graph;
    const v = step < 0 ? ~step : step;
    for (const { start, values } of step < 0 ? [outputs] : [inputs, outputs])
      for (let i = start[v]; i < start[v + 1]; i++)
        if (Math.max(this.lastUse[values[i]], this.neededUntil[values[i]]) <= this.now) this.release(values[i]);
  }

  private keepUntil(w: number, time: number): void {
    this.neededUntil[w] = Math.max(this.neededUntil[w], time);
  }

  private isHeld(w: number): boolean {
    return this.placeOf[w] >= 0;
  }

  private hold(w: number): void {
    if (this.isHeld(w)) return;
    this.placeOf[w] = this.heldCount;
    this.held[this.heldCount++] = w;
    this.heldBytes += this.graph.bytes[w];
  }

  private release(w: number): void {
    const place = this.placeOf[w];
    if (place < 0) return;
    const last = this.held[--this.heldCount];
    this.held[place] = last;
    this.placeOf[last] = place;
    this.placeOf[w] = -1;
    this.heldBytes -= this.graph.bytes[w];
  }
}
