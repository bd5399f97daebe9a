import { extrapolateRuns } from "@remat/memory/extrapolation";
import { extrapolateCosts } from "@remat/runtime-estimator";
import { torchOptimizerNames, withOptimizer } from "@remat/sharding";
import { Category, itemAt, RematError, RuntimeSource, type Trace } from "@remat/trace";
import type { StepsToFit } from "./steps-to-fit.js";

/** A run and its name. */
export interface RecordedRun {
  readonly name: string;
  readonly trace: Trace;
}

/**
 * Returns the step of recorded runs at any batch. A single run is available only at its own batch. Runs at two or three
 * batches are scaled to any batch, as in `extrapolateRuns`. An optimizer is applied as in `withOptimizer`.
 *
 * @param sizes the batches of the runs. Default: the first size of the first tensor that differs between them
 * @throws RematError the errors of `extrapolateRuns` and `withOptimizer`; `FIT_BATCH` for a batch that a single run
 * does not have
 * @example
 * stepsOfRuns([{ name: "run-b8", trace: a }, { name: "run-b16", trace: b }]).stepAt(64, undefined);
 */
export function stepsOfRuns(runs: readonly RecordedRun[], sizes?: readonly number[]): StepsToFit {
  const { name: file, trace: first } = itemAt(runs, 0);
  const name = first.header.model ?? file;
  const { framework } = first.header;
  const optimizers = framework === "pytorch" ? torchOptimizerNames() : [];
  if (runs.length === 1) {
    const batch = batchOfRun(first);
    if (batch === undefined)
      throw new RematError(
        "FIT_BATCH",
        `${file}: the batch size is unknown, because every op reads only weights. Name the model instead, or name runs at two batches.`,
      );
    const known = new Map<string | undefined, Trace>([[undefined, first]]);
    return {
      name,
      framework,
      optimizers,
      recordedBatches: [batch],
      isMeasured: first.ops.runtimeSource.includes(RuntimeSource.measured),
      async stepAt(asked, optimizer) {
        if (asked !== batch)
          throw new RematError(
            "FIT_BATCH",
            `${file} was recorded only with a batch of ${batch}, not ${asked}. Record the step at another batch as well, and name both runs.`,
          );
        const step = known.get(optimizer) ?? withOptimizer(first, optimizer!);
        known.set(optimizer, step);
        return step;
      },
    };
  }
  const { traceAt, varying, residualBytes } = extrapolateRuns(runs, sizes);
  if (sizes === undefined && varying.side !== 0)
    throw new RematError(
      "FIT_BATCH",
      `${runs.map((run) => run.name).join(", ")}: they differ in dimension ${varying.side ?? "?"} of their inputs, not in the batch, which is the first. Record the step at two batches; for other sizes use remat extrapolate.`,
    );
  const sized = runs.map(({ trace }, i) => ({ size: itemAt(varying.sizes, i), trace }));
  return {
    name,
    framework,
    optimizers,
    recordedBatches: [...varying.sizes].sort((a, b) => a - b),
    residualBytes,
    async stepAt(batch, optimizer) {
      const step = sized.find(({ size }) => size === batch)?.trace ?? extrapolateCosts(traceAt(batch), batch, sized);
      return optimizer === undefined ? step : withOptimizer(step, optimizer);
    },
  };
}

/**
 * Returns the number of samples with which a run was recorded, as stated by its step.
 *
 * If the step does not state it, it is the first size of the first input that an op reads. Tensors that ops create,
 * such as positions, do not count as inputs. In a run without known inputs it is the first size of the first tensor
 * that is neither weight nor state.
 */
export function batchOfRun(trace: Trace): number | undefined {
  if (trace.header.step?.batch !== undefined) return trace.header.step.batch;
  const { category } = trace.storages;
  const firstSide = (isRead: (storage: number) => boolean): number | undefined => {
    for (let op = 0; op < trace.ops.count; op++)
      for (const tensor of trace.opInputs(op))
        if (trace.tensorShape(tensor).length > 0 && trace.tensorStorages(tensor).every(isRead))
          return trace.tensorShape(tensor)[0];
    return undefined;
  };
  return (
    firstSide((storage) => category[storage] === Category.input) ??
    firstSide((storage) => !ofModel.has(itemAt(category, storage)))
  );
}

const ofModel: ReadonlySet<number> = new Set([Category.parameter, Category.buffer, Category.optimizerState]);
