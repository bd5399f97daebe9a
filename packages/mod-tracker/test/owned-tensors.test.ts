import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { OwnedTensors } from "../src/owned-tensors.js";

beforeAll(() => tf.setBackend("cpu"));

const tensors = () => Array.from({ length: 4 }, (_, i) => tf.scalar(i));

test("a scope owns what is in it and in the scopes in it, each tensor once", () => {
  const [weight, bias, mask, later] = tensors();
  const owned = new OwnedTensors();
  // The head has no weight of its own; `modeling` only begins like `model`.
  owned.add({ "model.embed.w": weight, "model.head.w": weight, "model.head.b": bias, "modeling.w": bias }, {});
  owned.add({}, { "model.head.mask": mask });
  expect(owned.of("model")).toEqual({ parameters: [weight, bias], buffers: [mask] });
  expect(owned.of("model.head")).toEqual({ parameters: [weight, bias], buffers: [mask] });
  expect(owned.of("model.embed")).toEqual({ parameters: [weight], buffers: [] });
  expect(owned.of("model.head.w")).toEqual({ parameters: [], buffers: [] });
  expect(owned.of("elsewhere")).toEqual({ parameters: [], buffers: [] });
  owned.add({ "model.head.b": later }, {});
  expect(owned.of("model.head").parameters).toEqual([weight, later]);
});

test("agrees with looking at every name", () => {
  const all = tensors();
  const name = fc
    .array(fc.constantFrom("a", "b", "ab"), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("."));
  const record = fc.dictionary(name, fc.constantFrom(...all));
  fc.assert(
    fc.property(record, record, name, (parameters, buffers, scope) => {
      const owned = new OwnedTensors();
      owned.add(parameters, buffers);
      const inside = (named: Record<string, tf.Tensor>) => [
        ...new Set(Object.keys(named).flatMap((key) => (key.startsWith(`${scope}.`) ? [named[key]] : []))),
      ];
      expect(owned.of(scope)).toEqual({ parameters: inside(parameters), buffers: inside(buffers) });
    }),
  );
});
