import { readFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { buildGpt } from "../gpt-2/model.js";
import { buildTransformer } from "../transformer/model.js";

interface Packed {
  readonly shape: number[];
  readonly values: number[];
}

interface Case {
  readonly config: object;
  readonly modules: string[];
  readonly parameters: Record<string, Packed>;
  readonly gradients: Record<string, Packed>;
  readonly tokens: number[][];
  readonly logits: Packed;
}

/** PyTorch's transformer and GPT-2 with weights, tokens, logits and gradients: see fixtures/make-transformers.py. */
const { cases } = JSON.parse(readFileSync(new URL("fixtures/transformers.json", import.meta.url), "utf8")) as {
  cases: Record<string, Case>;
};

const builders: Record<string, (args: object) => any> = {
  transformer: (args) => buildTransformer(args as never),
  "gpt-2": (args) => buildGpt({ name: "GPT2", ...args } as never),
};

function near(found: tf.Tensor, { shape, values }: Packed): void {
  expect(found.shape).toEqual(shape);
  const scale = Math.max(...values.map(Math.abs));
  // Off by 5.5e-6.
  found.dataSync().forEach((value, i) => expect(Math.abs(value - (values[i] as number))).toBeLessThan(5e-5 * scale));
}

describe.each(Object.keys(builders))("%s is PyTorch's", (name) => {
  const { config, modules, parameters, gradients, tokens, logits } = cases[name] as Case;
  const stack: string[] = [];
  const visited: string[] = [];
  const scope = <T>(scopeName: string, run: () => T): T => {
    stack.push(scopeName);
    visited.push(stack.join("."));
    const result = run();
    stack.pop();
    return result;
  };
  const example = (builders[name] as (args: object) => any)({ tf, config, scope });

  it("in the names and shapes of its parameters", () => {
    const shapes = (entries: Record<string, { shape: number[] }>) =>
      Object.entries(entries).map(([key, { shape }]) => [key, shape]);
    expect(shapes(example.parameters)).toEqual(shapes(parameters));
  });

  it("in its logits and in the gradient of every parameter", () => {
    for (const [key, { shape, values }] of Object.entries(parameters))
      example.parameters[key].assign(tf.tensor(values, shape));
    const input = tf.tensor2d(tokens, undefined, "int32");
    const { value, grads } = tf.variableGrads(() => {
      const output = example.forward(input, { training: false }) as tf.Tensor3D;
      near(output, logits);
      const weights = tf.sin(tf.reshape(tf.range(0, output.size), output.shape));
      return tf.sum(tf.mul(output, weights));
    }, Object.values(example.parameters));
    expect(Number.isFinite(value.dataSync()[0])).toBe(true);
    for (const [key, gradient] of Object.entries(gradients))
      near(grads[example.parameters[key].name] as tf.Tensor, gradient);
  });

  it("in the modules that run, by their names", () => {
    expect([...new Set(visited)].sort()).toEqual([...modules].sort());
  });
});
