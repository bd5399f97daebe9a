import type { UnmetBudget } from "@remat/memory";
import type { OutputDocument } from "../formats/output-document.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";

/** The reason why the budget of a step or a graph cannot be met. */
export interface InfeasibleBudget extends UnmetBudget {
  readonly name: string;
  readonly budgetBytes: number;
  /** The op or node that needs `lowerBoundBytes`. */
  readonly occurrence: string;
}

/**
 * Explains why a budget cannot be met: the smallest budget that works, the memory that no plan can avoid, and the op
 * that is the bottleneck.
 *
 * @example
 * process.stdout.write(writeDocument(infeasibleDocument({ name: "resnet50", budgetBytes, ...infeasible }), "table"));
 */
export function infeasibleDocument(
  infeasible: InfeasibleBudget,
  { units }: { readonly units?: SizeUnit } = {},
): OutputDocument {
  const size = sizeFormat(units);
  const { name, budgetBytes, lowerBoundBytes, smallestFoundBytes, occurrence } = infeasible;
  const rows = bindingRows(infeasible);
  const isMade = ([what]: BindingRow) => what === "makes";
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          infeasible.isProven
            ? `${name}: nothing fits within ${size(budgetBytes)} (proven).`
            : `${name}: no plan was found within ${size(budgetBytes)}, but one may exist.`,
          `The smallest budget found is ${size(smallestFoundBytes)} (${smallestFoundBytes} B). No plan needs less than ${size(lowerBoundBytes)}.`,
          `The bottleneck is ${shorten(occurrence)}.`,
        ],
      },
      {
        kind: "table",
        headers: ["While it runs", "Size", "Tensors"],
        wraps: "Tensors",
        rows: [...withRest(rows.filter((row) => !isMade(row))), ...withRest(rows.filter(isMade))].map(
          ([what, of, bytes]) => [labels[what] ?? what, size(bytes), shorten(labels[of] ?? of)],
        ),
      },
    ],
    records: () => ({ columns: ["what", "name", "bytes"], rows }),
    value: () => ({ feasible: false, ...infeasible, smallestFeasibleBytes: smallestFoundBytes }),
  };
}

type BindingRow = readonly [what: string, name: string, bytes: number];

function bindingRows({ heldBytes, waitingBytes, inputs, outputs }: InfeasibleBudget): readonly BindingRow[] {
  return [
    ["held all the time", "weights, optimizer state, inputs", heldBytes],
    ["waits for later", "gradients, and what else cannot be recomputed", waitingBytes],
    ...inputs.map((input) => ["reads", input.name, input.bytes] as const),
    ...outputs.map((output) => ["makes", output.name, output.bytes] as const),
  ];
}

/** Names that differ between the records and the table for people. */
const labels: Readonly<Record<string, string>> = {
  "held all the time": "always live",
  "waits for later": "needed later",
  makes: "writes",
  "gradients, and what else cannot be recomputed": "gradients and other tensors that cannot be recomputed",
};

const listed = 8;

/** Returns the first rows, and one row with the sum of the others. */
function withRest(rows: readonly BindingRow[]): BindingRow[] {
  if (rows.length <= listed + 1) return [...rows];
  const rest = rows.slice(listed);
  return [
    ...rows.slice(0, listed),
    [rest[0][0], `${rest.length} more`, rest.reduce((sum, [, , bytes]) => sum + bytes, 0)],
  ];
}

const longest = 110;

function shorten(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
