import {
  comesBefore,
  compareValues,
  firstDifference,
  type RunDifference,
  type ValueDifference,
} from "./compare-runs.js";
import type { ProcessName } from "./process-paths.js";
import { consumesGradients, type StepFigures, type StepJob, type StepResult } from "./step-job.js";

/** What the comparison with stock came to. */
export interface Verification {
  readonly steps: number;
  /** How many tensors were compared in all. */
  readonly tensors: number;
  readonly isEqual: boolean;
  /** In what two runs of stock itself differ. */
  readonly stockDiffers: RunDifference | undefined;
  /** In what ours differs from stock, before stock differs from itself. */
  readonly difference: RunDifference | undefined;
  /** The same, in numbers. */
  readonly values: ValueDifference | undefined;
}

function withoutGradients({ gradients: _, ...figures }: StepFigures): StepFigures {
  return figures;
}

/** Has a job done in a process of its own. */
export type RunJob = (name: ProcessName & ("stock" | "executor"), job: StepJob, what: string) => Promise<StepResult>;

/**
 * Runs the job's steps twice as stock, in processes that never load the hook, and once as asked for, all with the same random numbers, and
 * compares every loss, gradient and weight bit for bit.
 */
export async function verifyRun(job: StepJob, run: RunJob): Promise<Verification> {
  const digesting: StepJob = { ...job, digest: true, record: false };
  const asStock: StepJob = { ...digesting, execution: { kind: "stock" } };
  const stock = await run("stock", asStock, "running stock");
  const again = await run("stock", asStock, "running stock again");
  const ours = await run("executor", digesting, "running for comparison");
  const stockDiffers = firstDifference(stock.steps, again.steps);
  // Of gradients that the update has consumed the weights tell.
  const expected = consumesGradients(job.execution) ? stock.steps.map(withoutGradients) : stock.steps;
  const found = firstDifference(expected, ours.steps);
  // Where stock differs from itself nothing can be asked of us any more.
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

  /** Runs both once more for the values of the tensor that differs. */
  async function valuesOf(place: RunDifference): Promise<ValueDifference | undefined> {
    if (place.kind !== "gradient" && place.kind !== "weight") return undefined;
    const reading = { digest: true, read: [place], steps: place.step + 1 };
    const [expected] = (await run("stock", { ...asStock, ...reading }, "reading what differs")).values;
    const [values] = (await run("executor", { ...digesting, ...reading }, "reading what differs")).values;
    return expected && values && compareValues(expected, values);
  }
}
