import { type Plan, writePlan } from "@remat/trace";
import fc from "fast-check";
import type { Outcome } from "../../../../packages/checkpoint/test/users/ways.js";
import { planOfFirstPass, stock } from "../../../../packages/checkpoint/test/users/ways.js";
import { compile } from "../programs/compile.js";
import { healEngine } from "../programs/heal-engine.js";
import { programs } from "../programs/program.js";
import { sourceOfProgram } from "../programs/source-of-program.js";

/** A program with its unmodified behaviour, and a plan for its first step. */
export interface PlanSubject {
  readonly source: string;
  readonly expected: Outcome;
  readonly plan: Plan;
  /** The plan as in its file. */
  readonly file: object;
}

/** Number of rows, chosen so that activations outweigh weights. */
const batches: readonly number[] = [48, 48];

/** Draws programs that do not fail, with plans that recompute. */
export async function planSubjects(seed: number, count: number): Promise<readonly PlanSubject[]> {
  const subjects: PlanSubject[] = [];
  for (let drawn = 0; subjects.length < count && drawn < 40 * count; drawn++) {
    const [program] = fc.sample(programs, { seed: seed + drawn, numRuns: 1 });
    const source = sourceOfProgram({ ...program, batches });
    const subject = await subjectOf(source);
    if (subject?.plan.steps.some(({ isRecomputed }) => isRecomputed) === true) subjects.push(subject);
  }
  return subjects;
}

/** Undefined for a program that fails, or that has no plan. */
export async function subjectOf(source: string): Promise<PlanSubject | undefined> {
  healEngine();
  const program = compile(source);
  const expected = await stock(program);
  healEngine();
  if (expected.seen.some(([name]) => name === "error")) return undefined;
  const plan = await planOfFirstPass(program, [0.4, 0.5, 0.6, 0.7, 0.8]).catch(() => undefined);
  healEngine();
  return plan && { source, expected, plan, file: JSON.parse(writePlan(plan)) as object };
}
