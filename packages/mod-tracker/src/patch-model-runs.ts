import type { PatchSet } from "@remat/dispatch-hook";
import type { Tensor } from "@tensorflow/tfjs-core";
import { Sequential } from "@tensorflow/tfjs-layers";
import type { Container } from "./layer-internals.js";

/** What tfjs-layers runs a model with, other than `call`: it goes to the graph's layers directly. */
interface ExecutableModel {
  readonly inputs: readonly unknown[];
  makeTrainFunction(): (data: Tensor[]) => unknown;
  predictLoop(data: Tensor | Tensor[], ...more: unknown[]): unknown;
  execute(inputs: unknown, outputs: unknown): unknown;
  makeTestFunction(): void;
  testFunction: (data: Tensor[]) => unknown;
}

/** A Sequential hands everything to a functional model inside it, which it makes when it is built. */
function executableOf(model: Container): ExecutableModel {
  if (!(model instanceof Sequential)) return model as unknown as ExecutableModel;
  const sequential = model as unknown as { model?: ExecutableModel | null; build(): void };
  if (sequential.model == null) sequential.build();
  return sequential.model as ExecutableModel;
}

/** Runs `body`, which runs the model on `inputs`, or on parts of them if left out. */
export type RunModel = <T>(inputs: readonly Tensor[] | undefined, body: () => T) => T;

/**
 * Tells of each place where a model runs without its `call`: `fit` and `trainOnBatch` (the train function), `evaluate` (the test function),
 * `predict` (its loop over batches). `model.execute` runs a part of the graph, of which the layers alone are told.
 *
 * @internal
 */
export function patchModelRuns(model: Container, run: RunModel, patches: PatchSet): void {
  const executable = executableOf(model);
  const inputsIn = (data: Tensor[]) => data.slice(0, executable.inputs.length);
  patches.patch(executable, "makeTrainFunction", (original) => () => {
    const train = original.call(executable);
    return (data) => run(inputsIn(data), () => train(data));
  });
  patches.patch(
    executable,
    "predictLoop",
    (original) =>
      (data, ...more) =>
        run(undefined, () => original.call(executable, data, ...more)),
  );
  // It is made anew by each `evaluate`, but `evaluateDataset` may use one that is there.
  const patchTest = () =>
    patches.patch(
      executable,
      "testFunction",
      (test) => (data) => run(inputsIn(data), () => test.call(executable, data)),
    );
  if (executable.testFunction !== undefined) patchTest();
  patches.patch(executable, "makeTestFunction", (original) => () => {
    original.call(executable);
    patchTest();
  });
}
