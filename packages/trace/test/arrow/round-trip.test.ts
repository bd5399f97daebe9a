import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isArrow, readArrowTrace, writeArrowTrace } from "../../src/arrow/index.js";
import { parseTrace, readTrace, Trace } from "../../src/index.js";
import { nameArbitrary, traceArbitrary } from "../arbitrary-trace.js";
import { cutBytes, fileOf, joinBytes } from "../bytes.js";
import { everyRecord } from "../every-record.js";
import { tellTrace } from "../tell-trace.js";
import { threeOps } from "../three-ops.js";

const arrowOf = (trace: Trace): Uint8Array => joinBytes(writeArrowTrace(trace));
const textOf = (trace: Trace): string => new TextDecoder().decode(fileOf(trace));

describe("a trace written as Arrow and read", () => {
  it("is the same, and gives the same JSON Lines", () => {
    fc.assert(
      fc.property(traceArbitrary, (trace) => {
        const read = readArrowTrace(arrowOf(trace));
        expect(tellTrace(read)).toEqual(tellTrace(trace));
        expect(textOf(read)).toBe(textOf(trace));
      }),
      { numRuns: 150 },
    );
  });

  it("gives the same Arrow file, also after JSON Lines", () => {
    fc.assert(
      fc.property(traceArbitrary, (trace) => {
        const bytes = arrowOf(parseTrace(fileOf(trace)));
        expect(arrowOf(readArrowTrace(bytes))).toEqual(bytes);
        expect(arrowOf(parseTrace(fileOf(readArrowTrace(bytes))))).toEqual(bytes);
      }),
      { numRuns: 40 },
    );
  });

  it("is the same with the step in other dtypes", () => {
    fc.assert(
      fc.property(traceArbitrary, traceArbitrary, nameArbitrary, (wide, low, dtype) => {
        const read = readArrowTrace(arrowOf(new Trace({ ...wide, recordedIn: new Map([[dtype, low]]) })));
        expect(tellTrace(read)).toEqual(tellTrace(wide));
        expect([...read.recordedIn].map(([name, run]) => [name, tellTrace(run)])).toEqual([[dtype, tellTrace(low)]]);
      }),
      { numRuns: 25 },
    );
  });

  it("is the same with every kind of record and field", () => {
    const trace = parseTrace(everyRecord().join("\n"));
    expect(tellTrace(readArrowTrace(arrowOf(trace)))).toEqual(tellTrace(trace));
  });

  it("is the same when it is gzipped, and at any place of a larger array", () => {
    const bytes = arrowOf(threeOps());
    const told = tellTrace(threeOps());
    expect(tellTrace(readArrowTrace(new Uint8Array(gzipSync(bytes))))).toEqual(told);
    for (let place = 0; place < 9; place++) {
      const larger = new Uint8Array(place + bytes.length);
      larger.set(bytes, place);
      expect(tellTrace(readArrowTrace(larger.subarray(place)))).toEqual(told);
    }
  });

  it("is still cut short if its source was", () => {
    const lines = everyRecord();
    for (let count = 1; count < lines.length; count++) {
      const cut = parseTrace(lines.slice(0, count).join("\n"));
      expect(cut.truncated).toBeDefined();
      expect(tellTrace(readArrowTrace(arrowOf(cut)))).toEqual(tellTrace(cut));
    }
  });

  it("has columns that are views of the file", () => {
    const bytes = joinBytes(writeArrowTrace(threeOps(), { compress: false }));
    const { ops, events } = readArrowTrace(bytes);
    for (const column of [ops.stack, ops.inputs.values, ops.flops, events.value, events.kind])
      expect(column.buffer).toBe(bytes.buffer);
  });
});

describe("the readers of the two formats", () => {
  it("recognise them by their first bytes", async () => {
    const bytes = arrowOf(threeOps());
    expect(
      [bytes, bytes.subarray(0, 6), bytes.subarray(0, 5), fileOf(threeOps()), new Uint8Array()].map(isArrow),
    ).toEqual([true, true, false, false, false]);
    const message = "run.arrow: an Arrow file, not JSON Lines. Read it with `readArrowTrace` of @remat/trace/arrow.";
    const options = { name: "run.arrow" };
    for (const file of [bytes, new Uint8Array(gzipSync(bytes))]) {
      expect(() => parseTrace(file, options)).toThrow(message);
      await expect(readTrace(cutBytes(file, [40]), options)).rejects.toThrow(message);
    }
    expect(() => readArrowTrace(fileOf(threeOps()), { name: "run" })).toThrow(
      "run: not a remat trace: it is not an Arrow IPC file. Use a file written by `remat … --trace`.",
    );
  });

  it.each([
    ["readArrowTrace's bytes", () => readArrowTrace("text" as never)],
    ["readArrowTrace's option 'name'", () => readArrowTrace(new Uint8Array(), { name: 1 as never })],
    ["writeArrowTrace's trace", () => writeArrowTrace({} as never)],
    ["writeArrowTrace's option 'compress'", () => writeArrowTrace(threeOps(), { compress: 1 as never })],
  ])("reject another value as %s", (what, call) => {
    expect(call).toThrow(
      expect.objectContaining({ code: "ARGUMENT", message: expect.stringContaining(what) as string }),
    );
  });
});
