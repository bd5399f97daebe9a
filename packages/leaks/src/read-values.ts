import { isDataAlive } from "@remat/dispatch-hook/tensors";
import { GrowthAccumulator } from "@remat/memory/growth";
import type { DataId } from "@tensorflow/tfjs-core";
import type { HeapCensus } from "./heap-census.js";
import type { LeakMaker } from "./leak-report.js";
import type { Stacks } from "./stacks.js";

/** Reads that are remembered: of those of more the older ones go at the next census, unless they are held. */
const mostReads = 16_384;
/** Smaller arrays are what a log keeps. */
const leastBytes = 256;
/** The part of the periods since the first read of a line of which nothing may be left. */
const mostGone = 1 / 8;

interface Read {
  readonly line: string;
  readonly bytes: number;
  readonly dtype: string;
  /** Periods that were over when it was read. */
  readonly at: number;
  readonly dataId: DataId;
  /** How many reads it stands for. */
  readonly weight: number;
}

/** Arrays that `data` and `dataSync` gave, so as to find those that a program holds on to: their tensors may be gone. */
export class ReadValues {
  private readonly takeStack: Stacks["take"];
  private reads = new Set<Read>();
  private readonly readOf = new WeakMap<ArrayBufferView, Read>();
  private held: readonly Read[] = [];
  private ended = 0;
  private endedAtCensus = 0;
  private kind = "";

  /** By line: how many periods were over at the first read. */
  private readonly firstAt = new Map<string, number>();

  constructor(takeStack: Stacks["take"]) {
    this.takeStack = takeStack;
  }

  read(values: ArrayBufferView, dataId: DataId): void {
    if (values.byteLength < leastBytes || this.readOf.has(values) || this.reads.size >= mostReads) return;
    const stack = this.takeStack("values");
    if (typeof stack === "number") return;
    // Read at once: what is on a stack cannot be collected.
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

  /** An array may be the data of a tensor itself: then it is alive as long as that is, whoever reads it. */
  look({ arrays }: HeapCensus): void {
    const held = arrays.flatMap((array) => this.readOf.get(array) ?? []).filter(({ dataId }) => !isDataAlive(dataId));
    this.held = held.toSorted((a, b) => a.at - b.at);
    this.reads = new Set(held);
    this.endedAtCensus = this.ended;
  }

  /** Lines whose arrays are still there, period for period. */
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

  /** Whether the oldest array of a line that is still there is one of its later ones: then it keeps the newest only. */
  private keepsNewest(line: string, oldestAt: number): boolean {
    const firstAt = this.firstAt.get(line)!;
    return oldestAt - firstAt > (this.endedAtCensus - firstAt) * mostGone;
  }
}
