import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { traceTables } from "../src/arrow/trace-tables.js";
import {
  categoryNames,
  EventKind,
  OpFlag,
  parseTrace,
  phaseNames,
  runtimeSourceNames,
  savedAsNames,
} from "../src/index.js";
import { tensorIndex } from "../src/index-types.js";
import { traceFormatVersion } from "../src/trace-encoder.js";
import { everyRecord } from "./every-record.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

describe("the README's description of the file format", () => {
  it("names every kind of record and every field", () => {
    const kinds = new Set<string>();
    const fields = new Set<string>();
    for (const line of everyRecord()) {
      const { t, out, ...record } = JSON.parse(line) as Record<string, unknown>;
      if (typeof t === "string") kinds.add(t);
      for (const field of Object.keys(record)) fields.add(field);
      for (const made of (out as unknown[] | undefined) ?? [])
        if (typeof made === "object") for (const field of Object.keys(made as object)) fields.add(field);
    }
    const missing = [...kinds, ...fields].filter((name) => !readme.includes(`\`${name}\``));
    expect(missing).toEqual([]);
  });

  it("names every phase, category, flag and origin", () => {
    const names = [...phaseNames, ...categoryNames, ...Object.keys(OpFlag), ...runtimeSourceNames, ...savedAsNames];
    expect(names.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });

  it("names every table and column of an Arrow file", () => {
    const [, arrow] = readme.split("## Arrow files, version");
    const columns = Object.entries(traceTables).flatMap(([name, { kinds }]) => [name, ...Object.keys(kinds)]);
    const names = [...columns, ...Object.keys(EventKind), ...Object.keys(OpFlag), "header", "dtype", "truncated"];
    expect(names.filter((name) => !arrow.includes(`\`${name}\``))).toEqual([]);
  });

  it("has an example that is a trace of this version", () => {
    expect(readme).toContain(`## The file format, version ${traceFormatVersion}`);
    const example = /```json\n([^]*?)```/.exec(readme)?.[1] ?? "";
    const [header, ...records] = example.trimEnd().split("\n");
    expect(records.length).toBeGreaterThan(5);
    for (const record of records) expect(JSON.parse(record)).toHaveProperty("t");
    expect(
      parseTrace(`${header}\n${records[0]}\n${records[1]}\n${records[2]}\n${records[3]}\n`).tensorShape(tensorIndex(0)),
    ).toEqual([3, 1]);
  });
});
