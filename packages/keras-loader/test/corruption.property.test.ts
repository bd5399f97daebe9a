import { readFileSync } from "node:fs";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";

const { cases } = JSON.parse(readFileSync(new URL("fixtures/keras-3-models.json", import.meta.url), "utf8")) as {
  cases: Record<string, { topology: object }>;
};
const topologies = Object.values(cases).map(({ topology }) => topology);

/** Every place of a JSON value, as a path of keys. */
function places(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))];
}

const wrongValues = [undefined, null, -1, 3, "x", "conv1", [], {}, [[]], [["x", 0, 0]], true];

describe("a topology with one value replaced", () => {
  it("is loaded or refused by a RematError that says what to do, never anything else, and a refusal leaves no tensor", () => {
    const arbitrary = fc.nat(topologies.length - 1).chain((i) =>
      fc.record({
        topology: fc.constant(topologies[i] as object),
        place: fc.constantFrom(...places(topologies[i]).slice(1)),
        value: fc.constantFrom(...wrongValues),
      }),
    );
    let refused = 0;
    fc.assert(
      fc.property(arbitrary, ({ topology, place, value }) => {
        const changed = structuredClone(topology);
        const parent = place
          .slice(0, -1)
          .reduce<Record<string, unknown>>((object, key) => object[key] as never, changed as never);
        const key = place.at(-1) as string;
        if (value === undefined && Array.isArray(parent)) parent.splice(Number(key), 1);
        else if (value === undefined) delete parent[key];
        else parent[key] = structuredClone(value);
        const before = tf.memory().numTensors;
        try {
          loadKerasModel(changed).dispose();
        } catch (error) {
          if (!(error instanceof RematError)) throw error;
          refused += 1;
          expect(error.code).toMatch(/^KERAS_/);
          expect(error.message).toMatch(/[.:] [A-Za-z].*\.$/s);
          // Stock LSTM leaves four tensors behind whenever it makes the bias of its forget gate.
          if (!JSON.stringify(topology).includes('"LSTM"')) expect(tf.memory().numTensors).toBe(before);
        }
      }),
      { numRuns: 400 },
    );
    expect(refused).toBeGreaterThan(50);
  });
});
