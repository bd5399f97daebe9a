import { fileURLToPath } from "node:url";
import { askProcess } from "../../../apps/cli/dist/run/ask-process.js";
import { Stepper } from "./stepper.js";

const planning = fileURLToPath(new URL("batch-plan-process.js", import.meta.url));

/**
 * Limit of a process's resident memory, and the initial part for tensors under a plan. The rest is for Node, TensorFlow
 * and memory that its allocator keeps.
 */
export const residentBytes = 4e9;
const tensorBytes = 3.3e9;

/**
 * Finds the largest batch that trains in a process with at most {@link residentBytes} resident, each tested by training
 * for three steps. For the baseline it is exact to the sample. For plans, the largest batch with a plan is tested, with
 * less memory for tensors until it fits.
 */
export async function measureLargestBatch({ source, backend }, { planMs, tell }) {
  const of = (batch) => ({ ...source, request: { ...source.request, batch } });
  const train = async (batch, way) => {
    tell(`largest batch of ${source.name}: ${way.kind}, ${batch}`);
    const stepper = new Stepper({ source: of(batch), backend, way }, "batch");
    try {
      return await stepper.ask("resident");
    } finally {
      stepper.end();
    }
  };
  const stock = await largest(2, async (batch) => {
    const resident = await train(batch, { kind: "stock" });
    return resident <= residentBytes ? { resident } : undefined;
  });
  // Memory other than tensors is known after training, and then reduces the budget for tensors.
  let budgetBytes = tensorBytes;
  for (;;) {
    const planned = await largest(8, (batch) =>
      askProcess(planning, { source: of(batch), backend, budgetBytes, timeMs: planMs }, { onProgress: tell }),
    );
    const { batch, fits } = planned;
    if (fits === undefined) return { stock, planned };
    const resident = await train(batch, { kind: "plan", plan: fits.plan });
    if (resident <= residentBytes) return { stock, planned: { batch, fits: { resident, ...fits } } };
    budgetBytes = Math.floor((0.98 * budgetBytes * residentBytes) / resident);
  }
}

/** The largest number that `fitsIn` has an answer for, and that answer. The next one has none. 0 if `from` has none. */
async function largest(from, fitsIn) {
  let batch = 0;
  let fits;
  let tooLarge = from;
  for (let answer = await fitsIn(from); answer !== undefined; answer = await fitsIn(tooLarge)) {
    batch = tooLarge;
    fits = answer;
    tooLarge *= 2;
  }
  while (tooLarge - batch > 1) {
    const middle = (batch + tooLarge) >> 1;
    const answer = await fitsIn(middle);
    if (answer === undefined) tooLarge = middle;
    else {
      batch = middle;
      fits = answer;
    }
  }
  return { batch, fits };
}
