import { formatChosenPercent, formatEstimatedMs, formatOverhead, formatPercent } from "../format-quantity.js";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import { describeEstimate } from "../time-quality.js";

/** Memory and time of a compiled model's step under an activation memory budget. */
export interface CompiledPlanPoint {
  /** `torch._functorch.config.activation_memory_budget`, from 0 to 1. */
  readonly activationMemoryBudget: number;
  readonly savedBytes: number;
  readonly peakBytes: number;
  readonly stepMs: number;
  /** Extra time as a fraction of the baseline's time. */
  readonly overhead: number;
}

/** A plan for a compiled model. */
export interface CompiledPlanSummary {
  readonly name: string;
  /** The device or method used to estimate kernel times, in words. */
  readonly pricedFor: string;
  readonly budgetBytes: number | undefined;
  /** Parts of the peak that no plan changes: weights and buffers, and inputs. */
  readonly staticBytes: number;
  readonly inputBytes: number;
  /** The step under the plan. Left out if no plan meets the budget. */
  readonly planned?: CompiledPlanPoint | undefined;
  readonly stock: CompiledPlanPoint;
  readonly least: CompiledPlanPoint;
  /** Points to show, by falling activation budget. */
  readonly points: readonly CompiledPlanPoint[];
  /** For each allowed overhead, as a fraction, the point with the lowest peak. Left out if not requested. */
  readonly recommended?: ReadonlyMap<number, CompiledPlanPoint> | undefined;
  readonly notes?: readonly string[];
}

/**
 * Returns the line of Python to run before a model is compiled.
 *
 * @example
 * activationBudgetLine(0.7);
 */
export function activationBudgetLine(activationMemoryBudget: number): string {
  return `torch._functorch.config.activation_memory_budget = ${activationMemoryBudget}`;
}

/**
 * Returns a report on a plan for a compiled model: saved bytes, peak and time for each recorded activation budget, and
 * the line of Python that sets the chosen one. The records have one row for each budget.
 */
export function compiledPlanDocument(summary: CompiledPlanSummary, units?: SizeUnit): OutputDocument {
  const size = sizeFormat(units);
  const { name, pricedFor, budgetBytes, staticBytes, inputBytes, planned, stock, least, points } = summary;
  const { recommended, notes = [] } = summary;
  const budget = budgetBytes === undefined ? "no budget" : `budget ${size(budgetBytes)}`;
  const cells = (point: CompiledPlanPoint): string[] => [
    String(point.activationMemoryBudget),
    size(point.savedBytes),
    size(point.peakBytes),
    formatPercent(point.peakBytes / stock.peakBytes),
    formatEstimatedMs(point.stepMs),
    formatOverhead(point.overhead),
  ];
  const headers = ["activation_memory_budget", "Saved for backward", "Peak", "Of baseline", "Step", "Overhead"];
  const whatIs = (point: CompiledPlanPoint): string =>
    Object.entries({ baseline: stock, planned, least })
      .flatMap(([word, one]) => (one === point ? [word] : []))
      .join(", ");
  const code = planned && activationBudgetLine(planned.activationMemoryBudget);
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          `${name}: for torch.compile, ${describeEstimate(pricedFor)}`,
          `${budget}; peaks are before Inductor fuses ops, and include ${size(staticBytes)} of weights and buffers and ${size(inputBytes)} of inputs`,
          ...notes.map((note) => `note: ${note}`),
        ],
      },
      {
        kind: "table",
        headers: [...headers, "Point"],
        worth: [9, 6, 8, 5, 4, 7, 3],
        rows: points.map((point) => [...cells(point), whatIs(point)]),
      },
      ...recommendedParts(recommended, headers, cells),
      ...(code === undefined
        ? []
        : [{ kind: "text" as const, lines: ["Set this before you compile the model:", "", `    ${code}`] }]),
    ],
    records: () => ({
      columns: ["activationMemoryBudget", "savedBytes", "peakBytes", "stepMs", "overhead"],
      rows: points.map((p) => [p.activationMemoryBudget, p.savedBytes, p.peakBytes, p.stepMs, p.overhead]),
    }),
    value: () => ({
      ...planned,
      name,
      executor: "torch-compile",
      pricedFor,
      budgetBytes,
      staticBytes,
      inputBytes,
      code,
      stock,
      least,
      points,
      ...(recommended && { recommended: [...recommended].map(([maxOverhead, point]) => ({ maxOverhead, ...point })) }),
      notes,
    }),
  };
}

function recommendedParts(
  recommended: CompiledPlanSummary["recommended"],
  headers: readonly string[],
  cells: (point: CompiledPlanPoint) => string[],
): DocumentPart[] {
  if (recommended === undefined) return [];
  return [
    {
      kind: "table",
      title: "Recommended",
      headers: ["Allowed overhead", ...headers],
      rows: [...recommended].map(([maxOverhead, point]) => [
        maxOverhead === 0 ? "none" : `at most ${formatChosenPercent(maxOverhead)}`,
        ...cells(point),
      ]),
    },
  ];
}
