import { median } from "../src/measure.js";
import { ratiosTo, Stepper, takeTurns } from "./stepper.js";
import { trainings } from "./trainings.js";

/**
 * Runs each training method within `budget` of the baseline's peak, in turns with the baseline: whether the budget is
 * kept, whether final weights are the same, and the time cost.
 */
export async function measureTrainings(budget, { backend, steps, tell }) {
  const rows = [];
  for (const training of Object.keys(trainings)) {
    const jobOf = (way) => ({ training, backend, way });
    const stockPeakBytes = await peakOf(jobOf({ kind: "counted" }));
    let figures;
    const taken = await takeTurns(
      { stock: jobOf({ kind: "stock" }), budget: jobOf({ kind: "budget", budget }) },
      {
        program: "training",
        rounds: steps,
        warmUpSteps: 5,
        tell: (text) => tell(`${training}: ${text}`),
        // Timing is done after planning, when the budget is kept by a plan.
        warmedUp: ({ budget: inBudget }) => inBudget.ask("figures"),
        async over({ stock, budget: inBudget }) {
          const digests = [await stock.ask("digest"), await inBudget.ask("digest")];
          figures = { ...(await inBudget.ask("figures")), isEqual: digests[0] === digests[1] };
        },
      },
    );
    const ratios = ratiosTo(taken.budget, taken.stock);
    const overhead = Math.min(median(ratios.wall), median(ratios.cpu)) - 1;
    rows.push({ training, stockPeakBytes, ...figures, ratios, overhead, wallMs: median(taken.stock.wallMs) });
  }
  return rows;
}

async function peakOf(job) {
  const stepper = new Stepper(job, "training");
  try {
    for (let i = 0; i < 2; i++) await stepper.ask("step");
    return await stepper.ask("peak");
  } finally {
    stepper.end();
  }
}
