import { type MixedIntegerRow, solveMixedInteger } from "../solve-mixed-integer.js";
import { memoryByModule, type Shares, type TreeModel, type Unit } from "./tree-model.js";

/** The unit of memory for the solver. Its tolerances are absolute, and in this unit they are a fraction of a byte. */
const mebibyte = 2 ** 20;

/** Columns of a unit: whether it is checkpointed, the share it frees, and the time to recompute that share in ms. */
const columnsPerUnit = 3;

/** The solution of the tree problem. @internal */
export interface TreeSolution {
  readonly shares: Shares;
  /** A lower bound on the recomputation time of any plan within the budget. */
  readonly lowerBoundMs: number;
}

/**
 * Finds the plan with the least recomputation among plans whose memory is always within the budget. Returns undefined
 * if none was found.
 * @internal
 */
export async function minimizeRecomputation(
  model: TreeModel,
  budgetBytes: number,
  options: { readonly gap: number; readonly timeLimitS: number },
): Promise<TreeSolution | undefined> {
  const rows = unitRows(model);
  forEachLimit(model, (needed, before) => {
    if (needed > budgetBytes) rows.push({ ...freedRow(before), atLeast: (needed - budgetBytes) / mebibyte });
  });
  const solution = await solveMixedInteger(
    { ...columnsOf(model), cost: model.units.flatMap(() => [0, 0, 1]), rows },
    { relativeGap: options.gap, timeLimitS: options.timeLimitS },
  );
  if (solution.values === undefined) return undefined;
  const shares = sharesIn(solution.values, model);
  return keepToBudget(model, shares, budgetBytes) ? { shares, lowerBoundMs: solution.lowerBound } : undefined;
}

/** Finds the plan with the lowest peak, in which all activations of the chosen units are freed. @internal */
export async function minimizePeak(model: TreeModel, timeLimitS: number): Promise<Shares> {
  const rows = unitRows(model);
  const peak = model.units.length * columnsPerUnit;
  forEachLimit(model, (needed, before) => {
    const { columns, values } = freedRow(before);
    rows.push({ columns: [...columns, peak], values: [...values, 1], atLeast: needed / mebibyte });
  });
  const columns = columnsOf(model);
  const solution = await solveMixedInteger(
    {
      upper: [...columns.upper, Number.POSITIVE_INFINITY],
      isWhole: [...columns.isWhole, 0],
      cost: [...model.units.flatMap(() => [0, 0, 0]), 1],
      rows,
    },
    { relativeGap: 0, timeLimitS },
  );
  const shares =
    solution.values === undefined ? new Float64Array(model.units.length) : sharesIn(solution.values, model);
  return shares.map((share) => (share > 0 ? 1 : 0));
}

function columnsOf({ units }: TreeModel): { upper: number[]; isWhole: number[] } {
  return {
    upper: units.flatMap(() => [1, 1, Number.POSITIVE_INFINITY]),
    isWhole: units.flatMap(() => [1, 0, 0]),
  };
}

/** Returns the constraints of each unit, and the constraint that no checkpointed unit is inside another. */
function unitRows({ units, ancestors }: TreeModel): MixedIntegerRow[] {
  const rows: MixedIntegerRow[] = [];
  const hasUnitInside = new Uint8Array(units.length);
  for (const list of ancestors) for (const u of list) hasUnitInside[u] = 1;
  for (const [u, unit] of units.entries()) {
    const [isUnit, share, time] = [u * columnsPerUnit, u * columnsPerUnit + 1, u * columnsPerUnit + 2];
    rows.push({ columns: [isUnit, share], values: [1, -1], atLeast: 0 });
    const leastShare = (unit.allBytes - unit.heldBytes) / unit.allBytes;
    if (leastShare > 0) rows.push({ columns: [share, isUnit], values: [1, -leastShare], atLeast: 0 });
    // This line passes through the origin for an unused unit: if both variables are 0, the time can be 0. The original
    // needs a big constant for this.
    for (const [s, slope] of unit.slopes.entries())
      rows.push({
        columns: [time, share, isUnit],
        values: [1, -unit.runtimeMs * slope, -unit.runtimeMs * unit.intercepts[s]],
        atLeast: 0,
      });
    if (hasUnitInside[u] === 0 && ancestors[u].length > 0) {
      const nested = [u, ...ancestors[u]].map((one) => one * columnsPerUnit);
      rows.push({ columns: nested, values: nested.map(() => 1), atMost: 1 });
    }
  }
  return rows;
}

/**
 * Calls `visit` for each interval between the ends of two units' forward passes, with the highest memory in it and the
 * units that ended before it.
 */
function forEachLimit(
  { units, heldBytes }: TreeModel,
  visit: (heldBytes: number, before: readonly Unit[]) => void,
): void {
  let place = 0;
  for (let count = 0; count <= units.length; count++) {
    const end = count < units.length ? units[count].place : heldBytes.length - 1;
    let held = Number.NEGATIVE_INFINITY;
    while (place <= end) held = Math.max(held, heldBytes[place++]);
    if (held > Number.NEGATIVE_INFINITY) visit(held, units.slice(0, count));
  }
}

/** Returns the memory that the first units save, in mebibytes. */
function freedRow(units: readonly Unit[]): { columns: number[]; values: number[] } {
  return {
    columns: units.flatMap((_, u) => [u * columnsPerUnit + 1, u * columnsPerUnit]),
    values: units.flatMap(({ allBytes, heldBytes }) => [allBytes / mebibyte, (heldBytes - allBytes) / mebibyte]),
  };
}

function sharesIn(values: Float64Array, { units }: TreeModel): Shares {
  return Float64Array.from(units, ({ allBytes, heldBytes }, u) => {
    if (Math.round(values[u * columnsPerUnit]) === 0) return 0;
    return Math.min(1, Math.max((allBytes - heldBytes) / allBytes, values[u * columnsPerUnit + 1]));
  });
}

/** A millionth of a byte: about the error of sums of doubles of this size. */
const roundingBytes = 1e-6;

/**
 * Increases the shares until memory is within the budget, since the solver's tolerance may leave some above it. Returns
 * false if that is impossible.
 */
function keepToBudget(model: TreeModel, shares: Shares, budgetBytes: number): boolean {
  for (let place = 0; place < model.heldBytes.length; place++) {
    let over = memoryByModule(model, shares)[place] - budgetBytes;
    for (let u = 0; u < shares.length && over > 0 && model.units[u].place < place; u++) {
      if (shares[u] === 0 || shares[u] === 1) continue;
      const share = Math.min(1, shares[u] + (over + roundingBytes) / model.units[u].allBytes);
      over -= (share - shares[u]) * model.units[u].allBytes;
      shares[u] = share;
    }
    if (over > roundingBytes) return false;
  }
  return true;
}
