import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { beforeAll, describe, expect, it } from "vitest";
import { tfNamespace } from "../src/model-definition.js";
import "@tensorflow/tfjs-backend-cpu";

/** Methods of tfjs-core's tensors: the name, and the text of the function. */
const folder = join(
  dirname(createRequire(import.meta.url).resolve("@tensorflow/tfjs-core/package.json")),
  "dist/public/chained_ops",
);
const stock = readdirSync(folder)
  .filter((file) => file.endsWith(".js") && !/_test|register_all/.test(file))
  .map((file): [string, string] => {
    const text = readFileSync(join(folder, file), "utf8");
    return [/prototype\.(\w+) =/.exec(text)?.[1] ?? file, /return (\w+)\(/.exec(text)?.[1] ?? ""];
  });

type Methods = Record<string, (...args: unknown[]) => tf.Tensor>;
const methods = (x: tf.Tensor): Methods => x as unknown as Methods;
const valuesOf = (x: tf.Tensor): unknown => [x.shape, x.dtype, x.arraySync()];

describe("tensors have the methods of @tensorflow/tfjs", () => {
  beforeAll(() => {
    tfNamespace();
  });

  it("are more than 130", () => {
    expect(stock.length).toBeGreaterThan(130);
  });

  it.each(stock)("%s, which calls %s", (name, op) => {
    expect(methods(tf.scalar(1))[name]).toBeTypeOf("function");
    expect((tf as unknown as Methods)[op] ?? (tf.image as unknown as Methods)[op]).toBeTypeOf("function");
  });

  it("that compute what the ops do", () => {
    const x = tf.tensor2d([1, -2, 3, 4], [2, 2]);
    const y = tf.tensor2d([5, 6, 7, 8], [2, 2]);
    const pairs: [tf.Tensor, tf.Tensor][] = [
      [methods(x).matMul(y, false, true), tf.matMul(x, y, false, true)],
      [methods(x).relu().add?.(y) as tf.Tensor, tf.add(tf.relu(x), y)],
      [methods(x).sum(0, true), tf.sum(x, 0, true)],
      [methods(x).concat([y, x], 1), tf.concat([x, y, x], 1)],
      [methods(x).concat(y), tf.concat([x, y])],
      [methods(x).stack(y, 1), tf.stack([x, y], 1)],
      [methods(x).where(tf.greater(x, 0), y), tf.where(tf.greater(x, 0), x, y)],
      [methods(x).flatten(), tf.reshape(x, [4])],
      [methods(x).as3D(1, 2, 2), tf.reshape(x, [1, 2, 2])],
      [methods(x).reshapeAs(tf.zeros([4, 1])), tf.reshape(x, [4, 1])],
      [methods(x).toInt(), tf.cast(x, "int32")],
      [methods(x).toBool(), tf.cast(x, "bool")],
      [methods(x).asType("int32"), tf.cast(x, "int32")],
      [methods(tf.tensor1d([7])).asScalar(), tf.scalar(7)],
      [methods(tf.tensor1d([1, 0], "int32")).oneHot(3), tf.oneHot(tf.tensor1d([1, 0], "int32"), 3)],
      [
        methods(tf.ones([2, 2, 1])).resizeBilinear([4, 4]),
        tf.image.resizeBilinear(tf.ones<tf.Rank.R3>([2, 2, 1]), [4, 4]),
      ],
    ];
    for (const [found, expected] of pairs) expect(valuesOf(found)).toEqual(valuesOf(expected));
  });

  it("that refuse what is disposed of, and what is no scalar", () => {
    const x = tf.tensor1d([1, 2]);
    expect(() => methods(x).asScalar()).toThrow("only 1 element");
    x.dispose();
    expect(() => methods(x).flatten()).toThrow("disposed");
  });
});
