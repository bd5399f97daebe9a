import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeProgress, parseTrace, readTrace, Trace, TraceEncoder } from "../src/index.js";
import { nameArbitrary, record, runArbitrary, traceArbitrary } from "./arbitrary-trace.js";
import { cutBytes, fileOf } from "./bytes.js";
import { tellTrace } from "./tell-trace.js";

const cutsArbitrary = fc.array(fc.nat(100_000), { maxLength: 20 });

describe("a trace written and read", () => {
  it("is the same, whole or in pieces that end anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(traceArbitrary, cutsArbitrary, async (trace, cuts) => {
        const bytes = fileOf(trace);
        const told = tellTrace(trace);
        expect(tellTrace(parseTrace(bytes))).toEqual(told);
        expect(tellTrace(parseTrace(new TextDecoder().decode(bytes)))).toEqual(told);
        expect(tellTrace(await readTrace(cutBytes(bytes, cuts)))).toEqual(told);
      }),
      { numRuns: 300 },
    );
  });

  it("is the same when gzipped by this package or by another", async () => {
    await fc.assert(
      fc.asyncProperty(traceArbitrary, cutsArbitrary, async (trace, cuts) => {
        const told = tellTrace(trace);
        const plain = fileOf(trace);
        const ours = fileOf(trace, { gzip: true });
        expect(new Uint8Array(gunzipSync(ours))).toEqual(plain);
        for (const bytes of [ours, new Uint8Array(gzipSync(plain))]) {
          expect(tellTrace(parseTrace(bytes))).toEqual(told);
          expect(tellTrace(await readTrace(cutBytes(bytes, cuts)))).toEqual(told);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("is the same when read byte by byte, within UTF-8 sequences too, from a buffer that is used again", async () => {
    await fc.assert(
      fc.asyncProperty(traceArbitrary, async (trace) => {
        const bytes = fileOf(trace);
        const piece = new Uint8Array(1);
        const pieces = function* (): Generator<Uint8Array> {
          for (const byte of bytes) {
            piece[0] = byte;
            yield piece;
          }
        };
        expect(tellTrace(await readTrace(pieces()))).toEqual(tellTrace(trace));
      }),
      { numRuns: 50 },
    );
  });

  it("is the same with the step in other dtypes, whose records an older reader passes over", async () => {
    await fc.assert(
      fc.asyncProperty(traceArbitrary, traceArbitrary, nameArbitrary, async (wide, low, dtype) => {
        const bytes = fileOf(new Trace({ ...wide, recordedIn: new Map([[dtype, low]]) }));
        for (const read of [parseTrace(bytes), await readTrace(cutBytes(bytes, [1, 100]))]) {
          expect(tellTrace(read)).toEqual(tellTrace(wide));
          expect([...read.recordedIn].map(([name, run]) => [name, tellTrace(run)])).toEqual([[dtype, tellTrace(low)]]);
        }
        const lines = new TextDecoder().decode(bytes).trimEnd().split("\n");
        expect(JSON.parse(lines.at(-1)!)).toMatchObject({ t: "end", events: wide.events.count });
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["3", "expected lists of records by dtype, found 3"],
    ["[]", "expected an object, found nothing"],
    [
      '[{"remat":"trace","version":1,"framework":"tfjs","device":"cpu","mode":"real","allocationUnitBytes":1}]',
      "expected an end record",
    ],
  ])("refuses %s as the step in another dtype", (records, message) => {
    const header =
      '{"remat":"trace","version":1,"framework":"tfjs","device":"cpu","mode":"real","allocationUnitBytes":1}';
    const file = `${header}\n{"t":"end","events":0,"recordedIn":{"bfloat16":${records}}}\n`;
    expect(() => parseTrace(file, { name: "run" })).toThrow(message);
  });

  it("gives the same file when it is written again", () => {
    fc.assert(
      fc.property(traceArbitrary, (trace) => {
        const text = new TextDecoder().decode(fileOf(trace));
        for (const line of text.trimEnd().split("\n")) expect(JSON.parse(line)).toBeTypeOf("object");
        expect(new TextDecoder().decode(fileOf(parseTrace(text)))).toBe(text);
      }),
    );
  });
});

describe("a trace written while it is recorded", () => {
  it("reads as the one written at the end, whenever its lines were written", () => {
    fc.assert(
      fc.property(runArbitrary, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (run, stops) => {
        const encoder = new TraceEncoder();
        const lines: string[] = [];
        const trace = record(run, (builder, index) => {
          if (stops[index]) lines.push(...encodeProgress(encoder, builder));
        });
        lines.push(...encoder.end(trace));
        expect(tellTrace(parseTrace(lines.join("\n")))).toEqual(tellTrace(trace));
      }),
      { numRuns: 300 },
    );
  });

  it("reads, when the run is killed, as what had happened until then", () => {
    fc.assert(
      fc.property(runArbitrary, fc.nat(60), (run, killedAfter) => {
        const encoder = new TraceEncoder();
        const lines: string[] = [];
        const soFar = record({ ...run, steps: run.steps.slice(0, killedAfter) }, (builder) => {
          lines.push(...encodeProgress(encoder, builder));
        });
        if (lines.length === 0) return;
        const read = parseTrace(`${lines.join("\n")}\n`);
        expect(read.truncated).toEqual({ line: lines.length, reason: "there is no end record" });
        const happened = ({ header, ops, events, weights }: Record<string, unknown>) => ({
          header,
          ops,
          events,
          weights,
        });
        expect(happened(tellTrace(read))).toEqual(happened(tellTrace(soFar)));
      }),
      { numRuns: 200 },
    );
  });
});
