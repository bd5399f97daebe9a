import { fakeMode } from "@remat/dispatch-hook/fake";
import { decideCheckpointing } from "./decide-checkpointing.js";
import { quantile } from "./quantile.js";
import { resolveStep, type StepRequest } from "./step-spec.js";
import { prepareStep } from "./training-step.js";

export interface TimeFakeStepOptions extends StepRequest {
  readonly name?: string | undefined;
  /** Steps before the first that counts (3). */
  readonly warmUpSteps?: number;
  /** Steps that count at least (3) and at most (9). */
  readonly minSteps?: number;
  readonly maxSteps?: number;
  /** Milliseconds after which no further step is taken (2,000). */
  readonly budgetMs?: number;
}

/**
 * Returns median milliseconds that a training step takes outside of kernels: what tfjs does in JavaScript for each op (the tape, tidies, tensors,
 * reference counts), the user's own code, and the arrays that JavaScript fills (ones, dropout masks). Kernels compute nothing meanwhile; with
 * the times of ops that `benchmarkTrace` measures this makes up the time of a step.
 *
 * @throws RematError as `traceFakeStep` does
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
          // Only steps fill their arrays; the weights of a large model would take minutes.
          fakeMode(() => step.take(), { backend, fillArrays: true, keepTensors: true });
          const ms = performance.now() - start;
          // Garbage is collected within and between steps, as in training.
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
