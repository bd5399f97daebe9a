import { fileURLToPath } from "node:url";
import { askProcess } from "../../../apps/cli/dist/run/ask-process.js";
import { Stepper } from "./stepper.js";

const planning = fileURLToPath(new URL("batch-plan-process.js", import.meta.url));

/** What a process may have resident in all, and what of that tensors may take under a plan, to begin with: the rest is Node, TensorFlow and what its allocator keeps. */
export const residentBytes = 4e9;
const tensorBytes = 3.3e9;

/**
 * The largest batch that trains in a process that has at most {@link residentBytes} resident, each tried by training for three steps: stock's, to the
 * sample; and that of plans, of which the largest batch that one is found for is tried, with less for tensors until
 * it has room.
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
  // What a process has besides tensors is known when it has trained: then tensors may take so much less.
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

/** The largest number that `fitsIn` has an answer for, and that answer: the next has none. 0 where `from` has none. */
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
