import type { StepFigures, TensorPlace } from "./step-job.js";

/** The first difference between two runs of the same steps. */
export type RunDifference =
  | { readonly step: number; readonly kind: "loss"; readonly expected: number; readonly found: number }
  | (TensorPlace & { readonly kind: "gradient" | "weight" })
  /** One run has a tensor that the other lacks. */
  | { readonly step: number; readonly kind: "missing"; readonly name: string };

/**
 * Returns the first difference between the losses, gradients and updated weights of two runs, compared bitwise in the
 * order in which a step computes them. Undefined if none exists.
 */
export function firstDifference(
  expected: readonly StepFigures[],
  found: readonly StepFigures[],
): RunDifference | undefined {
  for (let step = 0; step < Math.max(expected.length, found.length); step++) {
    const a = expected[step];
    const b = found[step];
    if (a === undefined || b === undefined) return { step, kind: "missing", name: "the step" };
    if (!Object.is(a.loss, b.loss)) return { step, kind: "loss", expected: a.loss, found: b.loss };
    for (const [kind, ours, theirs] of [
      ["gradient", b.gradients ?? {}, a.gradients ?? {}],
      ["weight", b.weights ?? {}, a.weights ?? {}],
    ] as const) {
      for (const name of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
        if (theirs[name] === ours[name]) continue;
        if (theirs[name] === undefined || ours[name] === undefined) return { step, kind: "missing", name };
        return { step, kind, name };
      }
    }
  }
  return undefined;
}

/** Returns whether `a` occurs before `b` in the course of a run. */
export function comesBefore(a: RunDifference, b: RunDifference): boolean {
  const rank = { missing: 0, loss: 0, gradient: 1, weight: 2 };
  return a.step !== b.step ? a.step < b.step : rank[a.kind] < rank[b.kind];
}

/** The difference between the values of one tensor. */
export interface ValueDifference {
  readonly elements: number;
  readonly differing: number;
  readonly maxAbsDifference: number;
  /** The first element that differs, and its value in both runs. */
  readonly index: number;
  readonly expected: number;
  readonly found: number;
}

/** Compares element by element. -0 differs from 0, and NaN equals NaN. */
export function compareValues(expected: ArrayLike<number>, found: ArrayLike<number>): ValueDifference {
  const elements = Math.max(expected.length, found.length);
  let differing = 0;
  let index = -1;
  let maxAbsDifference = 0;
  for (let i = 0; i < elements; i++) {
    if (Object.is(expected[i], found[i])) continue;
    differing++;
    if (index < 0) index = i;
    const apart = Math.abs(expected[i] - found[i]);
    if (!(apart <= maxAbsDifference)) maxAbsDifference = apart;
  }
  return {
    elements,
    differing,
    maxAbsDifference,
    index,
    expected: expected[index] ?? Number.NaN,
    found: found[index] ?? Number.NaN,
  };
}
