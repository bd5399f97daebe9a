import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { withDispatchMode } from "@remat/dispatch-hook";
import { DataDependentError, fakeMode } from "@remat/dispatch-hook/fake";
import { describeTrace } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Program, programs, runProgram } from "../../../dispatch-hook/test/programs.js";
import { TraceRecorder } from "../../src/index.js";

function record(program: Program, around: (run: () => void) => void): Trace {
  const recorder = new TraceRecorder();
  around(() => runProgram(program, (step) => withDispatchMode(recorder, step)));
  return recorder.trace();
}

describe.each(["cpu", "wasm"] as const)("fake mode that stands for %s", (backend) => {
  test("records what that backend records, buffer by buffer", async () => {
    await tf.setBackend(backend);
    fc.assert(
      fc.property(programs, (program) => {
        const real = describeTrace(record(program, (run) => run()));
        const fake = describeTrace(
          record(program, (run) =>
            fakeMode(
              () => {
                try {
                  run();
                } catch (error) {
                  // The program ends by reading what the first step computed.
                  if (!(error instanceof DataDependentError)) throw error;
                  tf.disposeVariables();
                }
              },
              { backend },
            ),
          ),
        );
        const common = fake.findIndex((line) => line === "mark optimizerStep");
        const compared = common < 0 ? fake.findIndex((line) => line.endsWith("is gradient")) : common;
        expect(compared).toBeGreaterThan(10);
        expect(fake.slice(0, compared)).toEqual(real.slice(0, compared));
      }),
      { numRuns: 30 },
    );
  });
});
