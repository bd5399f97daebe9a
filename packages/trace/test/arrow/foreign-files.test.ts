import { describe, expect, it } from "vitest";
import type { ArrowField } from "../../src/arrow/arrow-field.js";
import { readArrowTrace } from "../../src/arrow/index.js";
import type { ColumnData, IpcContent } from "../../src/arrow/ipc-content.js";
import { encodeTexts } from "../../src/arrow/utf8-column.js";
import { writeIpc } from "../../src/arrow/write-ipc.js";
import { joinBytes } from "../bytes.js";

const text: ArrowField = { name: "header", type: { kind: "utf8" } };
const int32: ArrowField = { name: "ids", type: { kind: "int", bits: 32, isSigned: true } };
const metadata = { remat: "trace", version: "1" };
const header = '{"framework":"tfjs","device":"cpu","mode":"real","allocationUnitBytes":1}';
const plain = (length: number, values: ArrayBufferView): ColumnData => ({
  length,
  nullCount: 0,
  buffers: [new Uint8Array(0), values],
  children: [],
});

function read(content: Partial<IpcContent>, compress?: (bytes: Uint8Array) => Uint8Array): unknown {
  const whole = { metadata, fields: [text], dictionaries: [], batches: [[encodeTexts([header])]], ...content };
  return readArrowTrace(joinBytes(writeIpc(whole, compress)), { name: "run" });
}

const deep = (levels: number): ArrowField =>
  levels === 0 ? text : { name: "deep", type: { kind: "struct", fields: [deep(levels - 1)] } };

describe("an Arrow file that is not a trace", () => {
  it.each<readonly [string, Partial<IpcContent>, string]>([
    [
      "another table",
      { metadata: {} },
      'run: not a remat trace: the metadata of its schema has no remat="trace". Use ',
    ],
    [
      "a trace of another version",
      { metadata: { ...metadata, version: "2" } },
      'run: trace format version "2", but this version of remat reads 1. Use ',
    ],
    ["a file without runs", { batches: [] }, "run: it has no run. Record "],
    ["a file without a header", { fields: [{ ...text, name: "other" }] }, "run: it has no column 'header'. Record "],
    [
      "a header that is not text",
      { fields: [{ ...int32, name: "header" }], batches: [[plain(1, new Int32Array(1))]] },
      "run, field 'header': expected the type utf8, found int32. Record ",
    ],
    [
      "a header that is not JSON",
      { batches: [[encodeTexts(["{"])]] },
      "run, field 'header': expected a JSON object, found \"{\". Record ",
    ],
    [
      "two runs in a batch",
      { batches: [[encodeTexts([header, header])]] },
      "run, field 'header': expected one run in each record batch, found 2. Record ",
    ],
    [
      "a header that is not there",
      { batches: [[encodeTexts([undefined])]] },
      "run, field 'header': expected no nulls, found 1. Record ",
    ],
    [
      "text that is not UTF-8",
      {
        batches: [[{ ...encodeTexts(["x"]), buffers: [new Uint8Array(0), Int32Array.of(0, 1), Uint8Array.of(0xff)] }]],
      },
      "run, field 'header': it has text that is not UTF-8. Record ",
    ],
    [
      "text whose offsets descend",
      { batches: [[{ ...encodeTexts(["x"]), buffers: [new Uint8Array(0), Int32Array.of(0, -1), new Uint8Array(1)] }]] },
      "run, field 'header': its offsets descend at row 0. Record ",
    ],
    [
      "text that breaks off",
      { batches: [[{ ...encodeTexts(["x"]), buffers: [new Uint8Array(0), Int32Array.of(0, 9), new Uint8Array(1)] }]] },
      "run, field 'header': it has 1 bytes of 9. Record ",
    ],
    ["a file without the other columns", {}, "run: it has no column 'dtype'. Record "],
    [
      "too many columns",
      {
        fields: Array.from({ length: 1001 }, () => text),
        batches: [Array.from({ length: 1001 }, () => encodeTexts([""]))],
      },
      "run: its schema has too many fields. Record ",
    ],
    ["a deep column", { fields: [deep(20)] }, "run: its schema has too many fields. Record "],
  ])("is rejected: %s", (_, content, message) => {
    expect(() => read(content)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(message) as string }),
    );
  });

  it("is rejected before data is decompressed that is larger than its column", () => {
    const longer = {
      ...plain(1, new Int32Array(1000)),
      buffers: [new Uint8Array(0), Int32Array.of(0, 1), new Uint8Array(1000)],
    };
    const compress = (bytes: Uint8Array): Uint8Array => (bytes.length < 1000 ? bytes : new Uint8Array(1));
    expect(() => read({ batches: [[longer]] }, compress)).toThrow(
      "run, field 'header': it has 1000 bytes, not 1. Record ",
    );
  });

  it("is rejected if its compressed data is damaged", () => {
    expect(() => read({}, () => Uint8Array.of(1, 2, 3))).toThrow(
      "run, field 'header': its compressed data is damaged. Record ",
    );
  });
});
