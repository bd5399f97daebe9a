import { unicodeText } from "@remat/testkit/unicode-text";
import fc from "fast-check";
import { expect, it } from "vitest";
import { initialState, type PageState, readHash, Store, writeHash } from "../page/state.js";

const text = unicodeText();
const state: fc.Arbitrary<PageState> = fc.record({
  module: text,
  op: fc.integer({ min: -1 }),
  from: fc.nat(),
  to: fc.integer({ min: -1 }),
  by: fc.constantFrom("category", "module"),
  axis: fc.constantFrom("ops", "time"),
  overlays: text,
  budget: fc.integer({ min: -1 }),
  plan: fc.constantFrom("auto", "recorded", "given"),
  keep: fc.nat(1000),
  method: fc.constantFrom("greedy", "optimal"),
  area: fc.constantFrom("memory", "time"),
  root: text,
  filter: text,
  marks: fc.nat(127),
  phase: fc.integer({ min: -1, max: 4 }),
  fate: fc.integer({ min: -1, max: 3 }),
  sort: fc.constantFrom("op", "name", "module", "phase", "memoryBytes", "runtimeMs", "msps", "freed", "fate"),
  order: fc.constantFrom("up", "down"),
  theme: fc.constantFrom("auto", "light", "dark"),
});

it("comes back whole from its address", () => {
  fc.assert(
    fc.property(state, (one) => {
      expect({ ...initialState, ...readHash(`#${writeHash(one)}`) }).toEqual(one);
    }),
  );
  expect(writeHash(initialState)).toBe("");
});

it("passes over whatever else stands in an address", () => {
  fc.assert(
    fc.property(text, (hash) => {
      const read = { ...initialState, ...readHash(`#${hash}`) };
      expect(Object.keys(read)).toEqual(Object.keys(initialState));
      for (const [key, value] of Object.entries(read))
        expect(typeof value).toBe(typeof initialState[key as keyof PageState]);
    }),
  );
  expect(readHash("#op=-5&from=1.5&keep=&by=no&sort=__proto__&constructor=1")).toEqual({});
});

it("tells listeners what has changed, and only then", () => {
  const store = new Store(initialState);
  const told: string[][] = [];
  store.follow((_state, changed) => told.push([...changed]));
  store.update({ op: 3, module: "" });
  store.update({ op: 3 });
  expect(told.slice(1)).toEqual([["op"]]);
});
