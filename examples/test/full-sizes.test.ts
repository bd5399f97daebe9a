import { readFileSync } from "node:fs";
import { fakeMode } from "@remat/dispatch-hook/fake";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Example } from "../example.js";
import { trainingStep } from "../training-step.js";
import { exampleNamed, exampleNames } from "./examples.js";

beforeAll(() => tf.ready());

/** The examples table of README.md by folder: the size of the inputs and the number of parameters. */
const table = new Map(
  [
    ...readFileSync(new URL("../README.md", import.meta.url), "utf8").matchAll(
      /^\| \[([\w-]+)\].*\| ([\d ×]+) \| ([\d,]+) \|$/gm,
    ),
  ].map(([, name, inputs, parameters]) => [
    name as string,
    {
      inputs: (inputs as string).split(" × ").map(Number),
      parameters: Number((parameters as string).replaceAll(",", "")),
    },
  ]),
);

function parameterCount({ model, parameters }: Example): number {
  const weights: readonly { readonly shape: readonly (number | null)[] }[] = parameters
    ? Object.values(parameters)
    : [...new Set(model?.weights)];
  return weights.reduce(
    (total, { shape }) => total + shape.reduce<number>((size, each) => size * (each as number), 1),
    0,
  );
}

describe("README.md", () => {
  it("lists every example", () => {
    expect([...table.keys()].sort()).toEqual([...exampleNames].sort());
  });
});

describe.each(exampleNames)("%s, full, in fake mode", (name) => {
  it("has the inputs and the number of parameters that README.md says", async () => {
    const build = await exampleNamed(name);
    const found = fakeMode(() => {
      const example = build({ tf, size: "full" });
      return { inputs: (example.inputs as tf.Tensor).shape, parameters: parameterCount(example) };
    });
    expect(found).toEqual(table.get(name));
  });
});

// A step of GPT-3 would test the fake mode's speed, not the example.
describe.each(exampleNames.filter((name) => name !== "gpt-3"))("%s, full, in fake mode", (name) => {
  it("takes a training step", async () => {
    const build = await exampleNamed(name);
    const gradients = fakeMode(() => {
      const step = trainingStep(tf, build({ tf, size: "full" }));
      expect(step.loss.shape).toEqual([]);
      return Object.values(step.gradients).map((gradient) => gradient?.shape);
    });
    expect(gradients.every((shape) => shape !== undefined)).toBe(true);
  });
});
