import { expect, test } from "vitest";
import { buildGraph, getFwdBwdInteractions, getPeakMemory } from "../../src/graph/index.js";

const storages = [{ bytes: 4, device: "cuda:0" }];
const placeholder = { name: "a", kind: "placeholder", outputs: [0] } as const;

test.each([
  [
    "a name given twice",
    { storages, nodes: [placeholder, placeholder] },
    "graph node 'a' has the name of an earlier node",
  ],
  [
    "an input that comes later",
    { storages, nodes: [{ name: "b", kind: "compute", inputs: ["a"] } as const, placeholder] },
    "graph node 'b' reads 'a', which is not an earlier node. Put nodes after their inputs.",
  ],
  [
    "a storage that does not exist",
    { storages, nodes: [{ ...placeholder, outputs: [1] }] },
    "graph node 'a' uses storage 1, which does not exist. Name one of the 1 storages.",
  ],
  [
    "negative bytes",
    { storages: [{ bytes: -1, device: "cpu" }], nodes: [] },
    "storage 0: expected 0 bytes or more, found -1. Correct its size.",
  ],
])("%s is refused", (_what, record, message) => {
  expect(() => buildGraph(record)).toThrow(message);
});

test("forward and backward graphs over different storages are refused", () => {
  const one = buildGraph({ storages, nodes: [placeholder, { name: "output", kind: "output", inputs: ["a"] }] });
  const none = buildGraph({ storages: [], nodes: [] });
  expect(() => getFwdBwdInteractions(one, none)).toThrow("forward graph has 1 storages, and the backward graph has 0");
  expect(() => getPeakMemory(none, none)).toThrow("does not end with an output node");
});
