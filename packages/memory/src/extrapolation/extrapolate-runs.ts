import { EventKind, RematError, type Rows, RuntimeSource, row, type StorageIndex, Trace } from "@remat/trace";
import { type HeldPeak, heldPeak } from "../held/held-memory.js";
import { degreeOf, fitPolynomial, isSizeOfTensor, type Polynomial, valueAt } from "./fit-polynomial.js";
import { requireSameSteps, type SizedRun } from "./match-runs.js";

/** What of the runs is of another size in each, such as the length of a sequence or the samples of a batch. */
export interface VaryingSize {
  /** Of each run, in the order of the runs. */
  readonly sizes: readonly number[];
  /** Where it was found: which side, counted from 0, of the first tensor that has it; undefined where it was given. */
  readonly side: number | undefined;
  readonly shape: readonly number[] | undefined;
  readonly dtype: string | undefined;
}

/** A run that was not used to fit, and what is predicted for it. */
export interface CheckedRun {
  readonly name: string;
  readonly size: number;
  readonly recordedBytes: number;
  readonly predictedBytes: number;
}

/** A step at any size, from runs recorded at some. */
export interface Extrapolation {
  readonly varying: VaryingSize;
  /** Runs in the order of their size; those that the polynomials go through. */
  readonly fitted: readonly (SizedRun & { readonly size: number })[];
  readonly checked: readonly CheckedRun[];
  /** How each storage grows: 0 constant, 1 as a line, 2 as a square. */
  readonly degrees: Uint8Array;
  /** Storages whose size is no polynomial that a tensor can have, such as padded ones: taken as lines, or what goes through the runs. */
  readonly irregular: readonly number[];
  /** By how much these are off in the runs at most, all together, in bytes. */
  readonly residualBytes: number;
  /** Returns the step at another size, in each dtype in which all runs were recorded: its storages and tensors, not what ops take or their arguments. */
  traceAt(size: number): Trace;
  peakAt(size: number): HeldPeak;
}

/** More than this of the peak cannot be off in a run that is there. */
const largestError = 0.01;

/**
 * Returns a step at sizes at which it was not recorded, from runs of the same step at two sizes (lines), or at three (squares: attention that is not fused). Each storage is matched by
 * its place in the order of things, and its size is a polynomial of the size of the runs, in whole numbers; the whole order of allocations at another size, and with it peak and
 * categories, follows. Runs beyond three, the larger ones, are compared with what is predicted of them.
 *
 * @param sizes of the runs, where they cannot be told by the first tensor whose shape is another in each
 * @throws RematError `RUNS_DIFFER` where the ops change with the size, `RUNS_SIZES` where the sizes cannot be told, `RUNS_IRREGULAR` where what is predicted of a run is off by more than 1 %
 * @example
 * const { peakAt } = extrapolateRuns([{ name: "512", trace: a }, { name: "1024", trace: b }, { name: "2048", trace: c }]);
 * peakAt(8192).peakBytes;
 */
export function extrapolateRuns(runs: readonly SizedRun[], sizes?: readonly number[]): Extrapolation {
  if (runs.length < 2)
    throw new RematError(
      "RUNS_SIZES",
      `expected runs of a step at two sizes or more, found ${runs.length}. Record it at another size, too.`,
    );
  requireSameSteps(runs);
  const varying = sizes === undefined ? findVaryingSize(runs) : { ...givenSizes(runs, sizes) };
  const sorted = runs.map((run, i) => ({ ...run, size: varying.sizes[i] })).sort((a, b) => a.size - b.size);
  const same = sorted.findIndex(({ size }, i) => i > 0 && size === sorted[i - 1].size);
  if (same > 0)
    throw new RematError(
      "RUNS_SIZES",
      `${sorted[same - 1].name} and ${sorted[same].name} are both of size ${sorted[same].size}. Expected runs of different sizes.`,
    );
  // The smallest, so that the others check what is said of larger ones.
  const fitted = sorted.slice(0, 3);
  const model = new SizeModel(fitted);
  const peakAt = (size: number): HeldPeak => heldPeak(model.traceAt(size));
  let inOthers: ReadonlyMap<string, Extrapolation> | undefined;
  const checked = sorted
    .filter((run) => !fitted.includes(run))
    .map(({ name, size, trace }) => ({
      name,
      size,
      recordedBytes: heldPeak(trace).peakBytes,
      predictedBytes: peakAt(size).peakBytes,
    }));
  if (sorted.length === 2) requireLines(model, fitted);
  for (const { name, size, trace } of sorted)
    requireClose(name, heldPeak(trace).peakBytes, peakAt(size).peakBytes, model);
  return {
    varying,
    fitted,
    checked,
    degrees: model.degrees,
    irregular: model.irregular,
    residualBytes: model.residualBytes,
    traceAt: (size) =>
      new Trace({
        ...model.traceAt(size),
        recordedIn: new Map(
          Array.from((inOthers ??= inOtherDtypes(sorted)), ([dtype, { traceAt }]) => [dtype, traceAt(size)]),
        ),
      }),
    peakAt,
  };
}

/** By dtype in which all runs were recorded, too: the same of those. Left out where sizes there do not follow. */
function inOtherDtypes(runs: readonly (SizedRun & { readonly size: number })[]): ReadonlyMap<string, Extrapolation> {
  const found = new Map<string, Extrapolation>();
  for (const dtype of runs[0].trace.recordedIn.keys()) {
    const others = runs.flatMap(({ name, trace }) => {
      const other = trace.recordedIn.get(dtype);
      return other === undefined ? [] : [{ name: `${name} in ${dtype}`, trace: other }];
    });
    if (others.length < runs.length) continue;
    try {
      found.set(
        dtype,
        extrapolateRuns(
          others,
          runs.map(({ size }) => size),
        ),
      );
    } catch (error) {
      if (!(error instanceof RematError)) throw error;
    }
  }
  return found;
}

/** The sizes of everything, as polynomials. */
class SizeModel {
  readonly degrees: Uint8Array;
  readonly irregular: number[] = [];
  readonly residualBytes: number;
  private readonly base: Trace;
  private readonly sizes: readonly number[];
  private readonly bytes: readonly Polynomial[];
  private readonly resizes: ReadonlyMap<number, Polynomial>;
  private readonly sides: readonly (Polynomial | undefined)[];

  constructor(runs: readonly (SizedRun & { readonly size: number })[]) {
    const traces = runs.map(({ trace }) => trace);
    this.sizes = runs.map(({ size }) => size);
    this.base = traces[traces.length - 1];
    const { storages, events } = this.base;
    this.degrees = new Uint8Array(storages.count);
    let residualBytes = 0;
    this.bytes = Array.from({ length: storages.count }, (_, storage) => {
      const bytes = traces.map((trace) => trace.storages.bytes[storage]);
      const exact = fitPolynomial(this.sizes, bytes);
      if (isSizeOfTensor(exact, this.sizes)) {
        this.degrees[storage] = degreeOf(exact);
        return exact;
      }
      this.irregular.push(storage);
      // Through the smallest and the largest: padding and the like, of which the one between tells how far it is off.
      const line = fitPolynomial([this.sizes[0], this.sizes.at(-1)!], [bytes[0], bytes.at(-1)!]);
      this.degrees[storage] = degreeOf(line);
      residualBytes += Math.max(...bytes.map((each, i) => Math.abs(each - Math.max(0, valueAt(line, this.sizes[i])))));
      return line;
    });
    this.residualBytes = residualBytes;
    const resizes = new Map<number, Polynomial>();
    for (let event = 0; event < events.count; event++)
      if (events.kind[event] === EventKind.resize)
        resizes.set(
          event,
          fitPolynomial(
            this.sizes,
            traces.map((trace) => trace.events.value[event]),
          ),
        );
    this.resizes = resizes;
    this.sides = sidesOf(traces, this.sizes);
  }

  traceAt(size: number): Trace {
    const { base } = this;
    const bytes = Float64Array.from(this.bytes, (polynomial) => Math.max(0, valueAt(polynomial, size)));
    const value = this.resizes.size === 0 ? base.events.value : base.events.value.slice();
    for (const [event, polynomial] of this.resizes) value[event] = Math.max(0, valueAt(polynomial, size));
    const shapes = base.tensors.shape;
    const sides = shapes.values.map((side, i) => {
      const polynomial = this.sides[i];
      return polynomial === undefined ? side : Math.max(0, valueAt(polynomial, size));
    });
    const strides: Rows<Float64Array> = {
      start: new Int32Array(base.tensors.count + 1),
      values: new Float64Array(0),
    };
    return new Trace({
      ...base,
      ops: {
        ...base.ops,
        attributes: new Int32Array(base.ops.count).fill(-1),
        runtimeMs: new Float64Array(base.ops.count),
        runtimeSource: new Uint8Array(base.ops.count).fill(RuntimeSource.none),
      },
      storages: { ...base.storages, bytes },
      tensors: { ...base.tensors, shape: { start: shapes.start, values: sides }, strides },
      events: { ...base.events, value },
    });
  }
}

/** By entry of the last trace's shapes: its polynomial, where tensors in the same place have as many sides in each run, and this one differs. */
function sidesOf(traces: readonly Trace[], sizes: readonly number[]): readonly (Polynomial | undefined)[] {
  const base = traces[traces.length - 1];
  const { start, values } = base.tensors.shape;
  const sides: (Polynomial | undefined)[] = Array.from({ length: values.length }, () => undefined);
  for (const [tensor, others] of tensorsInPlace(traces)) {
    const shapes = traces.map((trace, i) => row(trace.tensors.shape, others[i]));
    if (shapes.some(({ length }) => length !== shapes[0].length)) continue;
    for (let side = 0; side < shapes[0].length; side++) {
      const lengths = shapes.map((shape) => shape[side]);
      if (lengths.some((length) => length !== lengths[0])) sides[start[tensor] + side] = fitPolynomial(sizes, lengths);
    }
  }
  return sides;
}

/** The tensors of the last run that ops read or return, in their order, with the one in the same place of each run. */
function* tensorsInPlace(traces: readonly Trace[]): Generator<readonly [tensor: number, others: readonly number[]]> {
  const base = traces[traces.length - 1];
  const seen = new Uint8Array(base.tensors.count);
  for (let op = 0; op < base.ops.count; op++)
    for (const side of ["inputs", "outputs"] as const) {
      const rows = traces.map((trace) => row(trace.ops[side], op));
      const tensors = rows[rows.length - 1];
      for (let i = 0; i < tensors.length; i++) {
        if (seen[tensors[i]] === 1) continue;
        seen[tensors[i]] = 1;
        yield [tensors[i], rows.map((each) => each[i])];
      }
    }
}

function findVaryingSize(runs: readonly SizedRun[]): VaryingSize {
  const traces = runs.map(({ trace }) => trace);
  for (const [, tensors] of tensorsInPlace(traces)) {
    const shapes = traces.map((trace, i) => trace.tensorShape(tensors[i]));
    if (shapes.some(({ length }) => length !== shapes[0].length)) continue;
    for (let side = 0; side < shapes[0].length; side++) {
      const sizes = shapes.map((shape) => shape[side]);
      if (new Set(sizes).size > 1) return { sizes, side, shape: shapes[0], dtype: traces[0].tensorDtype(tensors[0]) };
    }
  }
  throw new RematError(
    "RUNS_SIZES",
    `${runs.map(({ name }) => name).join(", ")}: no tensor is of another shape in one than in the others. Expected runs of the same step at different sizes.`,
  );
}

function givenSizes(runs: readonly SizedRun[], sizes: readonly number[]): VaryingSize {
  if (sizes.length !== runs.length)
    throw new RematError(
      "RUNS_SIZES",
      `expected a size for each of the ${runs.length} runs, found ${sizes.length}: ${sizes.join(", ")}. Give them in the order of the runs.`,
    );
  return { sizes, side: undefined, shape: undefined, dtype: undefined };
}

/** Nothing shows in two runs by how much what is no line is off. */
function requireLines({ irregular }: SizeModel, [, { name, trace }]: readonly SizedRun[]): void {
  const bytes = irregular.reduce((sum, storage) => sum + trace.storages.bytes[storage], 0);
  if (bytes <= largestError * heldPeak(trace).peakBytes) return;
  const largest = irregular.reduce((a, b) => (trace.storages.bytes[b] > trace.storages.bytes[a] ? b : a));
  const maker = trace.ops.count > 0 ? firstOpWith(trace, largest) : undefined;
  throw new RematError(
    "RUNS_IRREGULAR",
    `${irregular.length} storages, ${bytes} bytes in ${name}, do not grow as a line between the two runs${maker === undefined ? "" : `, the largest of them made by ${maker}`}: as attention's square does. Record the step at a third size.`,
  );
}

function firstOpWith(trace: Trace, storage: StorageIndex): string | undefined {
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of trace.opOutputs(op))
      if (trace.tensorStorages(tensor).includes(storage))
        return [trace.opName(op), trace.opModule(op)?.fqn, trace.opLine(op)]
          .filter((part) => part !== undefined)
          .join(", ");
  return undefined;
}

/** What a run was recorded to hold is what is predicted of it, but for what is irregular. */
function requireClose(name: string, recordedBytes: number, predictedBytes: number, model: SizeModel): void {
  if (Math.abs(predictedBytes - recordedBytes) <= largestError * recordedBytes) return;
  const share = ((Math.abs(predictedBytes - recordedBytes) / recordedBytes) * 100).toFixed(1);
  throw new RematError(
    "RUNS_IRREGULAR",
    `${name}: it holds ${recordedBytes} bytes at its peak, and the other runs let expect ${predictedBytes}, which is ${share} % off, of at most ${largestError * 100} %: ${model.irregular.length === 0 ? "sizes do not grow as a line or a square" : `${model.irregular.length} storages do not grow as a line or a square`}, as sizes that depend on data do. Record runs whose sizes follow from that of the input alone.`,
  );
}
