import {
  comesBefore,
  compareValues,
  firstDifference,
  type RunDifference,
  type ValueDifference,
} from "./compare-runs.js";
import type { ProcessName } from "./process-paths.js";
import { consumesGradients, type StepFigures, type StepJob, type StepResult } from "./step-job.js";

/** Result of the comparison with the baseline. */
export interface Verification {
  readonly steps: number;
  /** Total number of tensors compared. */
  readonly tensors: number;
  readonly isEqual: boolean;
  /** The first difference between two baseline runs. */
  readonly stockDiffers: RunDifference | undefined;
  /** The first difference between remat and the baseline, if it occurs before the baseline differs from itself. */
  readonly difference: RunDifference | undefined;
  /** The same difference in numbers. */
  readonly values: ValueDifference | undefined;
}

function withoutGradients({ gradients: _, ...figures }: StepFigures): StepFigures {
  return figures;
}

/** Runs a job in a separate process. */
export type RunJob = (name: ProcessName & ("stock" | "executor"), job: StepJob, what: string) => Promise<StepResult>;

/**
 * Runs the job's steps twice unmodified, in processes that never load the hook, and once as requested, all with the
 * same random numbers. Checks that every loss, gradient and weight is bitwise identical.
 */
export async function verifyRun(job: StepJob, run: RunJob): Promise<Verification> {
  const digesting: StepJob = { ...job, digest: true, record: false };
  const asStock: StepJob = { ...digesting, execution: { kind: "stock" } };
  const stock = await run("stock", asStock, "running the baseline");
  const again = await run("stock", asStock, "running the baseline again");
  const ours = await run("executor", digesting, "running for comparison");
  const stockDiffers = firstDifference(stock.steps, again.steps);
  // If the update has consumed the gradients, the weights are compared instead.
  const expected = consumesGradients(job.execution) ? stock.steps.map(withoutGradients) : stock.steps;
  const found = firstDifference(expected, ours.steps);
  // Once two baseline runs differ, a comparison means nothing.
  const difference =
    found !== undefined && (stockDiffers === undefined || comesBefore(found, stockDiffers)) ? found : undefined;
  const tensors = ours.steps.reduce(
    (sum, { gradients = {}, weights = {} }) => sum + Object.keys(gradients).length + Object.keys(weights).length,
    0,
  );
  return {
    steps: job.steps,
    tensors,
    isEqual: difference === undefined,
    stockDiffers,
    difference,
    values: difference && (await valuesOf(difference)),
  };

  /** Runs both again for the values of the tensor that differs. */
  async function valuesOf(place: RunDifference): Promise<ValueDifference | undefined> {
    if (place.kind !== "gradient" && place.kind !== "weight") return undefined;
    const reading = { digest: true, read: [place], steps: place.step + 1 };
    const [expected] = (await run("stock", { ...asStock, ...reading }, "reading what differs")).values;
    const [values] = (await run("executor", { ...digesting, ...reading }, "reading what differs")).values;
    return expected && values && compareValues(expected, values);
  }
}
