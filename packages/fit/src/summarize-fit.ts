import type { FitAnswer, FitConfiguration, FitObjective, FitRow, FitUnit, NotFitting } from "./fit-unit.js";

/** A row beside the others. */
export interface RankedRow extends FitRow {
  /** Of the memory that a step may hold. */
  readonly memoryShare: number;
  /** For a million samples, on all ranks; undefined where nobody says what the device costs. */
  readonly costPerMillion: number | undefined;
  /** Whether no other row holds less, is as quick and costs as little. */
  readonly isOnFront: boolean;
}

export interface FitSummary {
  readonly model: string;
  readonly objective: FitObjective;
  /** Undefined where nothing fits. */
  readonly best: RankedRow | undefined;
  /** The best first. */
  readonly rows: readonly RankedRow[];
  readonly notFitting: readonly {
    readonly configuration: FitConfiguration;
    readonly memoryBytes: number;
    readonly smallest: NotFitting;
  }[];
  readonly refused: readonly { readonly configuration: FitConfiguration; readonly reason: string }[];
  /** How many configurations nobody has looked at, where the search was ended early. */
  readonly left: number;
}

export interface SummarizeFitOptions {
  readonly model: string;
  /** What a device costs in an hour, by name. */
  readonly prices?: Readonly<Record<string, number>>;
}

/**
 * Returns what was found for all units, the best first: by the objective that they have, and where that is the same by memory.
 *
 * @param answers of each unit in its place; undefined of those that nobody has looked at
 * @example
 * summarizeFit(units, answers, { model: "resnet50", prices: { a100: 2.5 } }).best?.batch;
 */
export function summarizeFit(
  units: readonly FitUnit[],
  answers: readonly (FitAnswer | undefined)[],
  { model, prices = {} }: SummarizeFitOptions,
): FitSummary {
  const [{ objective }] = units;
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
  return { model, objective, best: rows[0], rows, notFitting, refused, left };
}

type CostedRow = Omit<RankedRow, "isOnFront">;

/** Returns rows, the best first, with which of them are on the front of these. @internal */
export function rankRows(found: readonly CostedRow[], objective: FitObjective): readonly RankedRow[] {
  return (
    found
      .map((row) => ({ ...row, isOnFront: !found.some((other) => isBetter(other, row)) }))
      // Those that are as good keep their order.
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

/** What is to be small. */
const aims: readonly ((row: CostedRow) => number)[] = [
  ({ peakBytes }) => peakBytes,
  ({ samplesPerSecond }) => -(samplesPerSecond ?? 0),
  ({ costPerMillion }) => costPerMillion ?? 0,
];

function isBetter(a: CostedRow, b: CostedRow): boolean {
  return aims.every((aim) => aim(a) <= aim(b)) && aims.some((aim) => aim(a) < aim(b));
}

function compare(a: CostedRow, b: CostedRow, objective: FitObjective): number {
  const [memory, time, cost] = aims;
  const order = {
    throughput: [time, untimedBatchAim, memory],
    cost: [costAim, time, memory],
    memory: [memory, time, cost],
    batch: [batchAim, time, memory],
  }[objective];
  for (const aim of order) if (aim(a) !== aim(b)) return aim(a) - aim(b);
  return 0;
}

/** What costs nobody knows what comes last. */
const costAim = ({ costPerMillion }: CostedRow): number => costPerMillion ?? Number.MAX_VALUE;
const batchAim = ({ batch }: CostedRow): number => -batch;
/** Where ops have no times, more samples are better. */
const untimedBatchAim = (row: CostedRow): number => (row.samplesPerSecond === undefined ? batchAim(row) : 0);
