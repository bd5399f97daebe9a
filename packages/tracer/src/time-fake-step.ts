import { fakeMode } from "@remat/dispatch-hook/fake";
import { decideCheckpointing } from "./decide-checkpointing.js";
import { quantile } from "./quantile.js";
import { resolveStep, type StepRequest } from "./step-spec.js";
import { prepareStep } from "./training-step.js";

/** Options of `timeFakeStep`. */
export interface TimeFakeStepOptions extends StepRequest {
  /** Name of the model. */
  readonly name?: string | undefined;
  /** Number of steps before the first that counts. Default: 3. */
  readonly warmUpSteps?: number;
  /** Minimum number of steps that count. Default: 3. */
  readonly minSteps?: number;
  /** Maximum number of steps that count. Default: 9. */
  readonly maxSteps?: number;
  /** Time after which no further step runs, in milliseconds. Default: 2,000. */
  readonly budgetMs?: number;
}

/**
 * Returns the median time of a training step outside of kernels, in milliseconds. It covers the JavaScript of
 * TensorFlow.js for each op (tape, tidies, tensors, reference counts), your own code, and arrays that JavaScript fills
 * (ones, dropout masks). Kernels do not compute. The time of a step is this plus the op times that `benchmarkTrace`
 * measures.
 *
 * @throws RematError the same errors as `traceFakeStep`
 * @example
 * const hostMs = await timeFakeStep(build, { batch: 8, backend: "tensorflow" });
 */
export async function timeFakeStep(exported: unknown, options: TimeFakeStepOptions = {}): Promise<number> {
  const { backend } = resolveStep(options);
  const { warmUpSteps = 3, minSteps = 3, maxSteps = 9, budgetMs = 2000 } = options;
  return fakeMode(
    async () => {
      const step = await prepareStep(exported, options);
      const stopDeciding = decideCheckpointing(options);
      try {
        const takeStep = async () => {
          const start = performance.now();
          // Only steps fill their arrays. Filling the weights of a large model would take minutes.
          fakeMode(() => step.take(), { backend, fillArrays: true, keepTensors: true });
          const ms = performance.now() - start;
          // Allows garbage collection within and between steps, as in training.
          await new Promise((resolve) => setTimeout(resolve));
          return ms;
        };
        for (let i = 0; i < warmUpSteps; i++) await takeStep();
        const times: number[] = [];
        let spentMs = 0;
        while (times.length < maxSteps && (times.length < minSteps || spentMs < budgetMs)) {
          const ms = await takeStep();
          times.push(ms);
          spentMs += ms;
        }
        return quantile(times, 0.5);
      } finally {
        stopDeciding();
        step.dispose();
      }
    },
    { backend },
  );
}
