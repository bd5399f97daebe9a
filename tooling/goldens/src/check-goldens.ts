import { type Golden, goldenFiles, readGolden } from "@remat/testkit";

/**
 * Compares a package's results with a golden file's answers. Returns the differences, each with both sides, or nothing
 * if they agree. It must not use an answer to compute the result.
 */
export type Comparison = (golden: Golden) => Found | Promise<Found>;

type Found = string | undefined | readonly string[];

/** By schema: every comparison for a golden file of this schema. */
export type Comparisons = Readonly<Record<string, readonly Comparison[]>>;

/**
 * By schema: functions that return how remat's answers are better than the golden file's, and by how much, or nothing
 * if they are not.
 */
export type Advantages = Readonly<Record<string, readonly ((golden: Golden) => string | undefined)[]>>;

/**
 * One of three outcomes: `agrees`, `better` (nothing differs, and something is proven better), or `differs`, which is
 * the only failure.
 */
export interface CheckedGolden {
  readonly name: string;
  readonly outcome: "agrees" | "better" | "differs";
  /** What is better, and by how much. */
  readonly advantage: string | undefined;
  /** The first difference, or undefined if all comparisons agree. */
  readonly difference: string | undefined;
}

/**
 * Checks the golden files of a folder one by one, limited to those whose name contains one of `words` if there are any.
 * A file that cannot be read, whose schema is unknown or that no comparison covers also counts as a difference.
 */
export async function* checkGoldens(options: {
  readonly folder: string;
  readonly comparisons: Comparisons;
  readonly advantages?: Advantages;
  readonly words?: readonly string[];
}): AsyncGenerator<CheckedGolden, void, undefined> {
  const words = options.words ?? [];
  for (const file of goldenFiles(options.folder)) {
    if (words.length > 0 && !words.some((word) => file.name.includes(word))) continue;
    let difference: string | undefined;
    let advantage: string | undefined;
    try {
      const golden = readGolden(file);
      difference = await firstDifference(golden, options.comparisons);
      if (difference === undefined) advantage = advantageOf(golden, options.advantages ?? {});
    } catch (error) {
      difference = `raised ${String(error)}`;
    }
    const outcome = difference !== undefined ? "differs" : advantage !== undefined ? "better" : "agrees";
    yield { name: file.name, outcome, difference, advantage };
  }
}

async function firstDifference(golden: Golden, comparisons: Comparisons): Promise<string | undefined> {
  const known = Object.hasOwn(comparisons, golden.schema) ? comparisons[golden.schema] : [];
  if (known.length === 0) return `schema ${JSON.stringify(golden.schema)}: no comparison knows it`;
  for (const compare of known) {
    const found = await compare(golden);
    const difference = typeof found === "string" ? found : found?.[0];
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function advantageOf(golden: Golden, advantages: Advantages): string | undefined {
  const found = (advantages[golden.schema] ?? []).map((of) => of(golden)).filter((text) => text !== undefined);
  return found.length === 0 ? undefined : found.join("; ");
}
