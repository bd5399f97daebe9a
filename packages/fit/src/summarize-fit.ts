import { itemAt } from "@remat/trace";
import type { FitAnswer, FitConfiguration, FitObjective, FitRow, FitUnit, NotFitting } from "./fit-unit.js";

/** A row compared with the others. */
export interface RankedRow extends FitRow {
  /** The peak as a fraction of the memory available for a step. */
  readonly memoryShare: number;
  /** The cost of a million samples on all ranks, or undefined if the price of the device is unknown. */
  readonly costPerMillion: number | undefined;
  /** True unless another row is at least as good in memory, speed and cost, and better in one of them. */
  readonly isOnFront: boolean;
}

/** The results of a search. */
export interface FitSummary {
  readonly model: string;
  readonly objective: FitObjective;
  /** How step times were obtained: estimated by the roofline of each device, or measured when the run was recorded. */
  readonly timesAre: "estimated" | "measured";
  /** The best row. Undefined if nothing fits. */
  readonly best: RankedRow | undefined;
  /** The rows that fit, the best first. */
  readonly rows: readonly RankedRow[];
  /** The configurations that do not fit, with the smallest batch that does not fit. */
  readonly notFitting: readonly {
    readonly configuration: FitConfiguration;
    readonly memoryBytes: number;
    readonly smallest: NotFitting;
  }[];
  /** The configurations that are impossible, with the reasons. */
  readonly refused: readonly { readonly configuration: FitConfiguration; readonly reason: string }[];
  /** The number of configurations that were not examined because the search ended early. */
  readonly left: number;
}

/** Options of {@link summarizeFit}. */
export interface SummarizeFitOptions {
  readonly model: string;
  /** The price of each device per hour, by name. */
  readonly prices?: Readonly<Record<string, number>>;
}

/**
 * Returns the results of all units, sorted by their objective and then by memory, with the best first.
 *
 * @param answers the answers in the order of the units, or undefined for units that were not examined
 * @example
 * summarizeFit(units, answers, { model: "resnet50", prices: { a100: 2.5 } }).best?.batch;
 */
export function summarizeFit(
  units: readonly FitUnit[],
  answers: readonly (FitAnswer | undefined)[],
  { model, prices = {} }: SummarizeFitOptions,
): FitSummary {
  const { objective, keepsMeasured = false } = itemAt(units, 0);
  const timesAre = keepsMeasured ? "measured" : "estimated";
  const found = units.flatMap((_, i) => {
    const answer = answers[i];
    return answer?.kind === "fits" ? [withCosts(answer.row, prices)] : [];
  });
  const rows = rankRows(found, objective);
  const notFitting = units.flatMap((unit, i) => {
    const answer = answers[i];
    if (answer?.kind !== "not-fitting") return [];
    return [{ configuration: answer.configuration, memoryBytes: unit.memoryBytes, smallest: answer.smallest }];
  });
  const refused = answers.flatMap((answer) =>
    answer?.kind === "refused" ? [{ configuration: answer.configuration, reason: answer.reason }] : [],
  );
  const left = units.filter((_, i) => answers[i] === undefined).length;
  return { model, objective, timesAre, best: rows[0], rows, notFitting, refused, left };
}

type CostedRow = Omit<RankedRow, "isOnFront">;

/**
 * Returns rows with the best first, and marks those on the front.
 *
 * @internal
 */
export function rankRows(found: readonly CostedRow[], objective: FitObjective): readonly RankedRow[] {
  return (
    found
      .map((row) => ({ ...row, isOnFront: !found.some((other) => isBetter(other, row)) }))
      // The sort is stable, so equal rows keep their order.
      .sort((a, b) => compare(a, b, objective))
  );
}

function withCosts(row: FitRow, prices: Readonly<Record<string, number>>): CostedRow {
  const { configuration, samplesPerSecond } = row;
  const price = prices[configuration.device];
  return {
    ...row,
    memoryShare: row.peakBytes / row.memoryBytes,
    costPerMillion:
      price === undefined || samplesPerSecond === undefined
        ? undefined
        : (1e6 / samplesPerSecond / 3600) * price * configuration.ranks,
  };
}

/** A quantity to minimize. */
type Aim = (row: CostedRow) => number;
const memory: Aim = ({ peakBytes }) => peakBytes;
const time: Aim = ({ samplesPerSecond }) => -(samplesPerSecond ?? 0);
const cost: Aim = ({ costPerMillion }) => costPerMillion ?? 0;
const aims: readonly Aim[] = [memory, time, cost];

function isBetter(a: CostedRow, b: CostedRow): boolean {
  return aims.every((aim) => aim(a) <= aim(b)) && aims.some((aim) => aim(a) < aim(b));
}

function compare(a: CostedRow, b: CostedRow, objective: FitObjective): number {
  const order = {
    throughput: [time, untimedBatchAim, memory],
    cost: [costAim, time, memory],
    memory: [memory, time, cost],
    batch: [batchAim, time, memory],
  }[objective];
  for (const aim of order) if (aim(a) !== aim(b)) return aim(a) - aim(b);
  return 0;
}

/** Rows of unknown cost come last. */
const costAim = ({ costPerMillion }: CostedRow): number => costPerMillion ?? Number.MAX_VALUE;
const batchAim = ({ batch }: CostedRow): number => -batch;
/** Without times, more samples are better. */
const untimedBatchAim = (row: CostedRow): number => (row.samplesPerSecond === undefined ? batchAim(row) : 0);
