import { formatTable } from "@remat/text-table";
import { formatBytes } from "./format-quantity.js";
import { joinParts } from "./join-parts.js";
import type { OutputFormat } from "./render-sac.js";
import { writeCsv } from "./write-csv.js";

/** Why nothing meets a budget: the op, or node, that needs most, with what it reads and makes. */
export interface InfeasibleBudget {
  readonly name: string;
  readonly budgetBytes: number;
  /** Whether it is proven that nothing meets it; if not, nothing was found. */
  readonly isProven: boolean;
  /** No plan holds less. */
  readonly lowerBoundBytes: number;
  /** The smallest peak found. */
  readonly smallestFoundBytes: number;
  readonly occurrence: string;
  readonly inputs: readonly { readonly name: string; readonly bytes: number }[];
  readonly outputs: readonly { readonly name: string; readonly bytes: number }[];
  /** What is held all the time. */
  readonly heldBytes: number;
  /** What waits there for a later op and cannot be recomputed. */
  readonly waitingBytes: number;
}

/**
 * Writes why a budget cannot be met: the smallest that can, what no plan can do without, and the op that binds.
 *
 * @example
 * process.stdout.write(renderInfeasibleBudget({ name: "resnet50", budgetBytes, ...infeasible }, "table"));
 */
export function renderInfeasibleBudget(infeasible: InfeasibleBudget, format: OutputFormat): string {
  const { name, budgetBytes, lowerBoundBytes, smallestFoundBytes, occurrence, inputs, outputs } = infeasible;
  if (format === "json")
    return `${JSON.stringify({ feasible: false, ...infeasible, smallestFeasibleBytes: smallestFoundBytes }, undefined, 2)}\n`;
  const rows: (readonly [what: string, name: string, bytes: number])[] = [
    ["held all the time", "weights, optimizer state, inputs", infeasible.heldBytes],
    ["waits for later", "gradients, and what else cannot be recomputed", infeasible.waitingBytes],
    ...inputs.map((input) => ["reads", input.name, input.bytes] as const),
    ...outputs.map((output) => ["makes", output.name, output.bytes] as const),
  ];
  if (format === "csv") return writeCsv(["what", "name", "bytes"], rows);
  const shown = [
    ...withRest(rows.filter(([what]) => what !== "makes")),
    ...withRest(rows.filter(([what]) => what === "makes")),
  ];
  return joinParts([
    [
      infeasible.isProven
        ? `${name}: nothing fits within ${formatBytes(budgetBytes)}: proven`
        : `${name}: nothing found within ${formatBytes(budgetBytes)}; not proven that nothing fits`,
      `smallest budget found ${formatBytes(smallestFoundBytes)} (${smallestFoundBytes} B); no plan needs less than ${formatBytes(lowerBoundBytes)}`,
      `what binds: ${shorten(occurrence)}`,
    ].join("\n"),
    formatTable(
      shown.map(([what, of, bytes]) => [what, shorten(of), formatBytes(bytes)]),
      {
        headers: ["While it runs", "What", "Size"],
        format: format === "table" ? "rst" : format === "md" ? "markdown" : "plain",
      },
    ),
  ]);
}

const listed = 8;

/** The first rows, and the rest as one. */
function withRest(
  rows: readonly (readonly [what: string, name: string, bytes: number])[],
): (readonly [what: string, name: string, bytes: number])[] {
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
