import { EventKind, RematError, type Rows, RuntimeSource, row, type StorageIndex, Trace } from "@remat/trace";
import { formatChosenPercent, formatPercent } from "@remat/trace/text";
import { type HeldPeak, heldPeak } from "../held/held-memory.js";
import { degreeOf, fitPolynomial, isSizeOfTensor, type Polynomial, valueAt } from "./fit-polynomial.js";
import { requireSameSteps, type SizedRun } from "./match-runs.js";

/** The quantity that differs between the runs, such as the length of a sequence or the number of samples in a batch. */
export interface VaryingSize {
  /** The size in each run, in the order of the runs. */
  readonly sizes: readonly number[];
  /**
   * The dimension that varies, counted from 0, of the first tensor whose shape varies. Undefined if the sizes were
   * given.
   */
  readonly side: number | undefined;
  /** The shape of that tensor in the first run. Undefined if the sizes were given. */
  readonly shape: readonly number[] | undefined;
  /** The dtype of that tensor. Undefined if the sizes were given. */
  readonly dtype: string | undefined;
}

/** A run that was not used for fitting, and the prediction for it. */
export interface CheckedRun {
  readonly name: string;
  readonly size: number;
  /** The recorded peak, in bytes. */
  readonly recordedBytes: number;
  /** The predicted peak, in bytes. */
  readonly predictedBytes: number;
}

/** A step at any size, extrapolated from runs recorded at a few sizes. */
export interface Extrapolation {
  readonly varying: VaryingSize;
  /** The runs that the polynomials go through, sorted by size. */
  readonly fitted: readonly (SizedRun & { readonly size: number })[];
  /** The other runs, with the prediction for each. */
  readonly checked: readonly CheckedRun[];
  /** For each storage, its growth: 0 for constant, 1 for linear, 2 for quadratic. */
  readonly degrees: Uint8Array;
  /**
   * Storages whose size does not fit the polynomial of any tensor, such as padded ones. They are approximated by lines.
   */
  readonly irregular: readonly number[];
  /** The largest total error of the irregular storages in any run, in bytes. */
  readonly residualBytes: number;
  /**
   * Returns the step at another size, in each dtype in which all runs were recorded. The trace contains storages and
   * tensors, but not the runtimes and arguments of ops.
   */
  traceAt(size: number): Trace;
  /** Returns the peak memory of the step at another size. */
  peakAt(size: number): HeldPeak;
}

/** Largest accepted error of the predicted peak of a recorded run, as a fraction. */
const largestError = 0.01;

/**
 * Extrapolates a step to other sizes from runs at two sizes (for linear growth) or three sizes (for quadratic growth,
 * as in attention that is not fused). Each storage is matched by its position in the sequence of events, and its size
 * is fitted as a polynomial of the run's size, in exact integer arithmetic. This gives the complete sequence of
 * allocations at another size, and with it the peak and its categories. The smallest three runs are fitted. Larger ones
 * are compared with their prediction.
 *
 * @param runs two or more runs of the same step
 * @param sizes the sizes of the runs. Default: found from the first tensor whose shape differs
 * @throws RematError `RUNS_DIFFER` if the ops change with the size, `RUNS_SIZES` if the sizes cannot be found,
 * `RUNS_IRREGULAR` if the prediction for a run is off by more than 1%
 * @example
 * const { peakAt } = extrapolateRuns([{ name: "512", trace: a }, { name: "1024", trace: b }, { name: "2048", trace: c }]);
 * peakAt(8192).peakBytes;
 */
export function extrapolateRuns(runs: readonly SizedRun[], sizes?: readonly number[]): Extrapolation {
  if (runs.length < 2)
    throw new RematError(
      "RUNS_SIZES",
      `extrapolation needs runs at two or more sizes, found ${runs.length}. Record the step at another size.`,
    );
  requireSameSteps(runs);
  const varying = sizes === undefined ? findVaryingSize(runs) : { ...givenSizes(runs, sizes) };
  const sorted = runs.map((run, i) => ({ ...run, size: varying.sizes[i] })).sort((a, b) => a.size - b.size);
  const same = sorted.findIndex(({ size }, i) => i > 0 && size === sorted[i - 1].size);
  if (same > 0)
    throw new RematError(
      "RUNS_SIZES",
      `${sorted[same - 1].name} and ${sorted[same].name} both have size ${sorted[same].size}. Use runs of different sizes.`,
    );
  // Fit the smallest runs, so that the others check the extrapolation to larger sizes.
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

/**
 * Extrapolates the runs in each other dtype in which all of them were recorded. A dtype is left out if its sizes cannot
 * be extrapolated.
 */
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

/** The size of every storage and tensor as a polynomial. */
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
      // Draw a line through the smallest and the largest run. This is for padding and similar effects, and the run in
      // between shows the error.
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

/**
 * Returns a polynomial for each varying entry in the last trace's shapes. Tensors are matched by position and must have
 * the same number of dimensions in each run.
 */
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

/**
 * Yields the tensors of the last run that ops read or return, in order, each with the tensors at the same position in
 * all runs.
 */
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
    `${runs.map(({ name }) => name).join(", ")}: all tensors have the same shapes. Use runs of the step at different sizes.`,
  );
}

function givenSizes(runs: readonly SizedRun[], sizes: readonly number[]): VaryingSize {
  if (sizes.length !== runs.length)
    throw new RematError(
      "RUNS_SIZES",
      `expected one size for each of the ${runs.length} runs, found ${sizes.length}: ${sizes.join(", ")}. Give them in the order of the runs.`,
    );
  return { sizes, side: undefined, shape: undefined, dtype: undefined };
}

/** Rejects two runs with irregular storages, because two runs cannot show the error of a line. */
function requireLines({ irregular }: SizeModel, [, { name, trace }]: readonly SizedRun[]): void {
  const bytes = irregular.reduce((sum, storage) => sum + trace.storages.bytes[storage], 0);
  if (bytes <= largestError * heldPeak(trace).peakBytes) return;
  const largest = irregular.reduce((a, b) => (trace.storages.bytes[b] > trace.storages.bytes[a] ? b : a));
  const maker = trace.ops.count > 0 ? firstOpWith(trace, largest) : undefined;
  throw new RematError(
    "RUNS_IRREGULAR",
    `${irregular.length} storages (${bytes} bytes in ${name}) may not grow linearly, like those of attention${maker === undefined ? "" : `. The largest is from ${maker}`}. Record the step at a third size.`,
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

/**
 * Checks that the predicted peak of a run is close to the recorded one. Only irregular storages can make a difference.
 */
function requireClose(name: string, recordedBytes: number, predictedBytes: number, model: SizeModel): void {
  if (Math.abs(predictedBytes - recordedBytes) <= largestError * recordedBytes) return;
  const share = formatPercent(Math.abs(predictedBytes - recordedBytes) / recordedBytes);
  throw new RematError(
    "RUNS_IRREGULAR",
    `${name}: peak memory is ${recordedBytes} bytes, but the other runs predict ${predictedBytes} (${share} off, at most ${formatChosenPercent(largestError)} is allowed). ${model.irregular.length === 0 ? "Sizes do" : `${model.irregular.length} storages do`} not grow linearly or quadratically. Record runs whose tensor sizes do not depend on the data.`,
  );
}
