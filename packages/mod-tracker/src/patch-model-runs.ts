import type { PatchSet } from "@remat/dispatch-hook";
import type { Tensor } from "@tensorflow/tfjs-core";
import { Sequential } from "@tensorflow/tfjs-layers";
import type { Container } from "./layer-internals.js";

/** Methods by which tfjs-layers runs a model without its `call`, directly through the layers of the graph. */
interface ExecutableModel {
  readonly inputs: readonly unknown[];
  makeTrainFunction(): (data: Tensor[]) => unknown;
  predictLoop(data: Tensor | Tensor[], ...more: unknown[]): unknown;
  execute(inputs: unknown, outputs: unknown): unknown;
  makeTestFunction(): void;
  testFunction: (data: Tensor[]) => unknown;
}

/** A Sequential delegates to an inner functional model, which it makes when it is built. */
function executableOf(model: Container): ExecutableModel {
  if (!(model instanceof Sequential)) return model as unknown as ExecutableModel;
  const sequential = model as unknown as { model?: ExecutableModel | null; build(): void };
  if (sequential.model == null) sequential.build();
  return sequential.model as ExecutableModel;
}

/** Runs `body`, which runs the model on `inputs`, or on parts of them if undefined. */
export type RunModel = <T>(inputs: readonly Tensor[] | undefined, body: () => T) => T;

/**
 * Wraps every method that runs a model without its `call`: `fit` and `trainOnBatch` (the train function), `evaluate`
 * (the test function), and `predict` (its loop over batches). `model.execute` runs part of the graph, so only its
 * layers are tracked.
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
  // Each `evaluate` makes a new test function, but `evaluateDataset` may reuse an existing one.
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
