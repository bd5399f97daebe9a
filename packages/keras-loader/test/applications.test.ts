import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";

/** The topologies of `keras.applications` as Keras writes them, and how many parameters Keras counts: written by tooling/keras-oracle. */
const applications = JSON.parse(
  brotliDecompressSync(readFileSync(new URL("fixtures/applications.json.br", import.meta.url))).toString("utf8"),
) as Record<string, Record<string, { readonly parameters: number; readonly topology: object }>>;

describe.each(Object.keys(applications))("keras.applications of Keras %s", (generation) => {
  const models = applications[generation] as (typeof applications)[string];
  it.each(Object.keys(models))("%s has Keras' number of parameters", (name) => {
    const { parameters, topology } = models[name] as (typeof models)[string];
    expect(fakeMode(() => loadKerasModel(topology).countParams())).toBe(parameters);
  });
});
