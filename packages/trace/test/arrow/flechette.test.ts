import { CompressionType, setCompressionCodec, type Table, tableFromIPC, tableToIPC } from "@uwdata/flechette";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readArrowTrace, writeArrowTrace } from "../../src/arrow/index.js";
import { parseTrace, phaseNames, type Trace } from "../../src/index.js";
import { opIndex } from "../../src/index-types.js";
import { traceArbitrary } from "../arbitrary-trace.js";
import { joinBytes } from "../bytes.js";
import { everyRecord } from "../every-record.js";
import { tellTrace } from "../tell-trace.js";

// Another implementation of Arrow is the oracle.
const arrowOf = (trace: Trace): Uint8Array => joinBytes(writeArrowTrace(trace, { compress: false }));
const tableOf = (trace: Trace): Table => tableFromIPC(arrowOf(trace));
const rowsOf = (table: Table, name: string): readonly Record<string, unknown>[] =>
  table.getChild(name).at(0) as readonly Record<string, unknown>[];

describe("an Arrow file read by flechette", () => {
  const trace = parseTrace(everyRecord().join("\n"));

  it("has a row for the run, with a list for each table", () => {
    const table = tableOf(trace);
    expect(table.numRows).toBe(1);
    expect(JSON.parse(table.getChild("header").at(0) as string)).toEqual(trace.header);
    expect(table.names.slice(3).map((name) => [name, rowsOf(table, name).length])).toEqual([
      ["ops", 2],
      ["storages", 3],
      ["tensors", 2],
      ["sharedTensors", 1],
      ["events", trace.events.count],
      ["modules", 2],
      ["calls", 2],
      ["stacks", 3],
      ["scopes", 2],
      ["moduleEvents", 3],
      ["saves", 1],
      ["weights", 1],
      ["marks", 1],
    ]);
  });

  it("has the values of the trace", () => {
    const table = tableOf(trace);
    const [, op] = rowsOf(table, "ops");
    expect(op).toMatchObject({
      name: "aten.mm_backward",
      phase: "backward",
      flags: 5,
      forwardOp: 0,
      attributes: '{"k":1}',
      line: "train.js:3:7",
      runtimeMs: 1,
      runtimeSource: "roofline",
      flops: 4,
    });
    expect(rowsOf(table, "ops")[0]).toMatchObject({ attributes: null, line: null, flops: Number.NaN });
    expect([...(op["inputs"] as Int32Array)]).toEqual([0]);
    const [first] = rowsOf(table, "tensors");
    expect([...(first["shape"] as Iterable<number>)].map(Number)).toEqual([4, 256]);
    expect(rowsOf(table, "scopes")).toMatchObject([
      { name: "attention", parent: -1, checkpoint: "reentrant", line: "train.py:3", given: null },
      { name: "softmax", parent: 0, checkpoint: null },
    ]);
    expect(rowsOf(table, "modules")[1]).toEqual({ fqn: "net.fc", kind: "Linear", leaf: true });
    expect(rowsOf(table, "storages")[0]).toEqual({ bytes: 4096, device: "cpu", category: "input" });
    expect(rowsOf(table, "marks")).toEqual([{ name: "step" }]);
  });

  it("has the ops of any trace", () => {
    fc.assert(
      fc.property(traceArbitrary, (any) => {
        const ops = rowsOf(tableOf(any), "ops");
        expect(ops.map(({ phase }) => phase)).toEqual(Array.from(any.ops.phase, (phase) => phaseNames[phase]));
        ops.forEach(({ name, outputs }, i) => {
          const op = opIndex(i);
          // UTF-8 has no half of a surrogate pair, and a null character begins a text that is escaped.
          if (!/\p{Surrogate}|^\0/u.test(any.opName(op))) expect(name).toBe(any.opName(op));
          expect([...(outputs as Int32Array)]).toEqual([...any.opOutputs(op)]);
        });
      }),
      { numRuns: 25 },
    );
  });

  it("is the same trace after flechette wrote it", () => {
    fc.assert(
      fc.property(traceArbitrary, (any) => {
        const bytes = tableToIPC(tableOf(any), { format: "file" })!;
        expect(tellTrace(readArrowTrace(bytes))).toEqual(tellTrace(any));
      }),
      { numRuns: 25 },
    );
  });

  it("is rejected if it was compressed with LZ4", () => {
    const unchanged = (bytes: Uint8Array): Uint8Array => bytes;
    setCompressionCodec(CompressionType.LZ4_FRAME, { encode: unchanged, decode: unchanged });
    const bytes = tableToIPC(tableOf(trace), { format: "file", codec: CompressionType.LZ4_FRAME })!;
    expect(() => readArrowTrace(bytes, { name: "run" })).toThrow(
      "run: its columns are compressed with LZ4. Write it with zstd or without compression. Record the trace again.",
    );
  });
});
