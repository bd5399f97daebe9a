import { CheckpointSimulator, checkpointableUnits, stepScript } from "@remat/memory/checkpointing";
import { OpFlag } from "@remat/trace";
import { expect, test } from "vitest";
import { PolicySearch } from "../../src/executors/torch-checkpoint/policy-search.js";
import { pricedStep, recordedCases } from "./recorded-steps.js";

test("saves of no module what PyTorch cannot: views, and what is written into later, in modules of the same place too that run other ops", () => {
  let saved = 0;
  for (const recorded of recordedCases) {
    const trace = pricedStep(recorded);
    const script = stepScript(trace);
    const units = checkpointableUnits(script);
    const simulator = new CheckpointSimulator(script, units);
    const search = new PolicySearch(simulator, units, { opCount: trace.ops.count, isOver: () => false });
    const run = simulator.run.bind(simulator);
    simulator.run = (modes, aboveBytes) => {
      for (let op = 0; op < trace.ops.count; op++) {
        if (modes.isSaved[op] === 0) continue;
        saved++;
        const made = units.madeBy(op);
        const cannot =
          made.length === 0 ||
          (trace.ops.flags[op] & (OpFlag.view | OpFlag.inPlace)) !== 0 ||
          made.some((storage) => units.isWritten[storage] === 1);
        expect(cannot, `${recorded.step.case}: ${trace.opName(op)}`).toBe(false);
      }
      return run(modes, aboveBytes);
    };
    search.descend(0);
  }
  expect(saved).toBeGreaterThan(1000);
});
