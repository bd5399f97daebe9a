import fc from "fast-check";
import { type Making, makings } from "./makings.js";

/** The fate of the tensors that a line makes. Some fates leak in each run. */
export type Fate = (typeof leakingFates | typeof cleanFates)[number];

/** A statement of a program's runs. */
export interface LeakyStatement {
  readonly making: Making;
  readonly fate: Fate;
  /** The runs in which it executes: each, every other, every third. */
  readonly every: number;
}

/** The event that ends a run. */
export type Ends = (typeof ends)[number];

/** A program that does the same in each of its runs, and disposes some of its tensors, as data. */
export interface LeakyProgram {
  readonly ends: Ends;
  readonly runs: number;
  /** True if it yields to other work between its runs. */
  readonly isAsync: boolean;
  readonly statements: readonly LeakyStatement[];
}

const leakingFates = ["forgotten", "held", "thrown past", "values held"] as const;
const cleanFates = ["disposed", "disposed later", "disposed together", "made once"] as const;
const ends = ["step", "predict", "mark", "fit", "nothing"] as const;

const statement: fc.Arbitrary<LeakyStatement> = fc
  .record({
    making: fc.constantFrom(...makings),
    fate: fc.oneof(
      { arbitrary: fc.constantFrom<Fate[]>(...cleanFates), weight: 3 },
      { arbitrary: fc.constantFrom<Fate[]>(...leakingFates), weight: 2 },
    ),
    every: fc.oneof({ arbitrary: fc.constant(1), weight: 3 }, { arbitrary: fc.constantFrom(2, 3), weight: 1 }),
  })
  // The live tensors of a function's line would be those of all its callers.
  .map((each) => (each.making.maker !== undefined && leavesSome.has(each.fate) ? { ...each, fate: "disposed" } : each));

const leavesSome = new Set<Fate>(["disposed later", "disposed together", "made once"]);
/** Statements of every second and every third run coincide every sixth. */
const longestCycle = 6;

/** Programs that leak at none, some or all of their lines. */
export const leakyPrograms: fc.Arbitrary<LeakyProgram> = fc
  .record({
    ends: fc.constantFrom<Ends[]>(...ends),
    cycles: fc.integer({ min: 6, max: 10 }),
    isAsync: fc.boolean(),
    statements: fc.array(statement, { minLength: 1, maxLength: 6 }),
  })
  // If nothing marks the end of a run, a period is a cycle. The first three cycles pass until the period is found.
  .map(({ cycles, ...rest }) => ({ ...rest, runs: longestCycle * cycles * (rest.ends === "nothing" ? 4 : 1) }));
