import type { PatchSet } from "@remat/dispatch-hook";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { Container } from "./layer-internals.js";

/** What tfjs-layers runs a model with, other than `call`: it goes to the graph's layers directly. */
interface ExecutableModel {
  readonly inputs: readonly unknown[];
  makeTrainFunction(): (data: Tensor[]) => unknown;
  predictLoop(data: Tensor | Tensor[], ...more: unknown[]): unknown;
  execute(inputs: unknown, outputs: unknown): unknown;
  testFunction?: (data: Tensor[]) => unknown;
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
  // A Sequential hands everything to a functional model inside it.
  const executable = ((model as { model?: unknown }).model ?? model) as ExecutableModel;
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
  watchTestFunction(executable, (test) => (data) => run(inputsIn(data), () => test(data)), patches);
}

/** tfjs-layers makes the test function once and keeps it in a field: what is read from there while tracking is wrapped. */
function watchTestFunction(
  model: ExecutableModel,
  wrap: (test: (data: Tensor[]) => unknown) => (data: Tensor[]) => unknown,
  patches: PatchSet,
): void {
  const before = Object.getOwnPropertyDescriptor(model, "testFunction");
  let current = model.testFunction;
  Object.defineProperty(model, "testFunction", {
    configurable: true,
    enumerable: before?.enumerable ?? true,
    get: () => current && wrap(current),
    set: (test: (data: Tensor[]) => unknown) => {
      current = test;
    },
  });
  patches.undoBy(() => {
    delete model.testFunction;
    if (before !== undefined || current !== undefined)
      Object.defineProperty(model, "testFunction", {
        ...(before ?? { configurable: true, enumerable: true, writable: true }),
        value: current,
      });
  });
}
