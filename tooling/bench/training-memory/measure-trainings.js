import { median } from "../src/measure.js";
import { ratiosTo, Stepper, takeTurns } from "./stepper.js";
import { trainings } from "./trainings.js";

/** Each way to train within `budget` of stock's peak, beside stock in turns: whether it is kept, whether weights are the same in the end, and what it costs. */
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
        // What is timed is the budget kept by what was planned of it.
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
