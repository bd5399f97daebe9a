import { deviceSpec } from "../../../packages/runtime-estimator/src/index.js";
import { traceFakeStep } from "../../../packages/tracer/src/index.js";
import { findUntruths } from "../../../packages/reporting/test/truth/find-untruths.js";
import { type Recording, recordings } from "../../../packages/reporting/test/truth/recordings.js";

/** A training step, and the figures of it that cannot be true. */
export interface CheckedStep {
  readonly name: string;
  readonly untruths: readonly string[];
}

/** Examples in TensorFlow.js, with the size in which they are traced. */
const examples = ["transformer", "lstm", "mobilenet-v2", "u-net", "shared-layers"];

/** A GPU and a CPU. Rates on all other devices are covered by a property of the roofline. */
const devices = ["a100", "cpu"].map(deviceSpec);

/** Checks every recorded step in the repository, and steps of examples. */
export async function* checkTruth(): AsyncGenerator<CheckedStep> {
  for await (const { name, trace } of steps()) {
    const untruths = devices.flatMap((device) => findUntruths(trace, device));
    yield { name, untruths: [...new Set(untruths)] };
  }
}

async function* steps(): AsyncGenerator<Recording> {
  yield* recordings();
  for (const name of examples) {
    const path = new URL(`../../../examples/${name}/model.js`, import.meta.url).href;
    const { default: model } = (await import(/* @vite-ignore */ path)) as { readonly default: unknown };
    yield { name: `examples/${name}`, trace: await traceFakeStep(model, { name, backend: "cpu" }) };
  }
}
