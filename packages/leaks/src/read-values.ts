import { isDataAlive } from "@remat/dispatch-hook/tensors";
import { GrowthAccumulator } from "@remat/memory/growth";
import type { DataId } from "@tensorflow/tfjs-core";
import type { HeapCensus } from "./heap-census.js";
import type { LeakMaker } from "./leak-report.js";
import type { Stacks } from "./stacks.js";

/**
 * Maximum number of reads to remember. If there are more, the older ones are dropped at the next census unless they are
 * still referenced.
 */
const mostReads = 16_384;
/** Smaller arrays are ignored, since programs keep them in logs. */
const leastBytes = 256;
/** Maximum share of the periods since a line's first read without a remaining array. */
const mostGone = 1 / 8;

interface Read {
  readonly line: string;
  readonly bytes: number;
  readonly dtype: string;
  /** Number of periods completed when it was read. */
  readonly at: number;
  readonly dataId: DataId;
  /** Number of reads that it represents. */
  readonly weight: number;
}

/** Arrays returned by `data` and `dataSync`, to find those that a program keeps. Their tensors may be disposed. */
export class ReadValues {
  private readonly takeStack: Stacks["take"];
  private reads = new Set<Read>();
  private readonly readOf = new WeakMap<ArrayBufferView, Read>();
  private held: readonly Read[] = [];
  private ended = 0;
  private endedAtCensus = 0;
  private kind = "";

  /** For each line: number of periods completed at the first read. */
  private readonly firstAt = new Map<string, number>();

  constructor(takeStack: Stacks["take"]) {
    this.takeStack = takeStack;
  }

  read(values: ArrayBufferView, dataId: DataId): void {
    if (values.byteLength < leastBytes || this.readOf.has(values) || this.reads.size >= mostReads) return;
    const stack = this.takeStack("values");
    if (typeof stack === "number") return;
    // Read immediately: objects on a stack cannot be collected.
    const { line } = stack.read();
    if (line === undefined) return;
    if (!this.firstAt.has(line)) this.firstAt.set(line, this.ended);
    const { weight } = stack;
    const read = { line, bytes: values.byteLength, dtype: values.constructor.name, at: this.ended, dataId, weight };
    this.reads.add(read);
    this.readOf.set(values, read);
  }

  get isEmpty(): boolean {
    return this.reads.size === 0;
  }

  endPeriod(kind: string): void {
    this.kind = kind;
    this.ended++;
  }

  /** An array may be the tensor's own data. It then lives as long as the tensor, no matter which code reads it. */
  look({ arrays }: HeapCensus): void {
    const held = arrays.flatMap((array) => this.readOf.get(array) ?? []).filter(({ dataId }) => !isDataAlive(dataId));
    this.held = held.toSorted((a, b) => a.at - b.at);
    this.reads = new Set(held);
    this.endedAtCensus = this.ended;
  }

  /** Reports lines with arrays left from nearly every period. */
  report(): readonly LeakMaker[] {
    const byLine = new Map<string, Read[]>();
    for (const read of this.held) byLine.set(read.line, [...(byLine.get(read.line) ?? []), read]);
    return [...byLine].flatMap(([line, held]) => {
      if (this.keepsNewest(line, held[0].at)) return [];
      const growth = new GrowthAccumulator();
      for (let period = 0, i = 0; period < this.endedAtCensus; period++) {
        for (; i < held.length && held[i].at <= period; i++) growth.allocated(0, held[i].bytes, held[i].weight);
        growth.endPeriod(this.kind);
      }
      const { countError: _, ...judged } = growth.growthOf(0);
      if (judged.verdict !== "growing") return [];
      const shapes = [...new Set(held.map(({ dtype }) => dtype))];
      const of = {
        line,
        op: "data",
        shapes,
        modules: [],
        names: [],
        origin: "values" as const,
        returnedBy: undefined,
        lost: 0,
        held: judged.count,
      };
      return { ...judged, ...of };
    });
  }

  /**
   * Returns whether the oldest remaining array of a line is one of its later ones. The line then keeps only the newest.
   */
  private keepsNewest(line: string, oldestAt: number): boolean {
    const firstAt = this.firstAt.get(line)!;
    return oldestAt - firstAt > (this.endedAtCensus - firstAt) * mostGone;
  }
}
