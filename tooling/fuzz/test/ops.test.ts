import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, test } from "vitest";
import { stock } from "../../../packages/checkpoint/test/users/ways.js";
import { compile } from "../src/programs/compile.js";
import { ops, opsWithoutGradient } from "../src/programs/ops/index.js";
import type { Op } from "../src/programs/ops/op.js";
import { sourceOfProgram } from "../src/programs/source-of-program.js";

beforeAll(async () => {
  tf.env().set("PROD", true);
  await tf.setBackend("cpu");
});

/** The errors of a program of one op, in two steps of different batches. */
async function errorsOf(op: Op): Promise<unknown[]> {
  const source = sourceOfProgram({
    batches: [2, 3],
    optimizer: "tf.train.sgd(0.05)",
    update: "variableGrads",
    statements: [{ does: "op", op, x: 0, y: 0 }],
  });
  const { seen } = await stock(compile(source));
  return seen.filter(([name]) => name === "error").map(([, message]) => message);
}

/** Ops that tfjs itself cannot train, by its errors. */
const knownErrors: Readonly<Record<string, RegExp>> = {
  time_distributed: /expected shape=2,4,6, found shape=3,4,6/,
  "Gradient for tile": /not implemented for rank-5/,
};

test("every op trains in stock, whatever the batch", async () => {
  const failing: string[] = [];
  for (const op of ops)
    for (const error of await errorsOf(op)) {
      const text = String(error);
      if (!Object.values(knownErrors).some((known) => known.test(text))) failing.push(`${op.text}: ${text}`);
    }
  expect(failing).toEqual([]);
});

test("every op without a gradient says so", async () => {
  for (const op of opsWithoutGradient) {
    const errors = await errorsOf(op);
    expect([op.text, errors.map(String)]).toEqual([op.text, Array(2).fill(expect.stringMatching(/gradient/))]);
  }
});

test("there are ops of more than 130 functions of tfjs, besides layers", () => {
  const functions = new Set(
    [...ops, ...opsWithoutGradient].flatMap(({ text }) =>
      [...text.matchAll(/\btf\.((?:[a-z]+\.)*[a-z]\w*)\(/gi)].map(([, name]) => name),
    ),
  );
  const isLayer = (name: string) => name.startsWith("layers.");
  expect([...functions].filter((name) => !isLayer(name)).length).toBeGreaterThan(130);
  expect([...functions].filter(isLayer).length).toBeGreaterThan(40);
});
