import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parseTrace, RematError, readTrace } from "../src/index.js";
import { fileOf } from "./bytes.js";
import { everyRecord } from "./every-record.js";
import { tellTrace } from "./tell-trace.js";
import { threeOps } from "./three-ops.js";

const lines = everyRecord();
const optional = new Set(
  "frameworkVersion backend deviceMemoryBytes hostMs checkpointingMs moduleCount model libraries failure notes device strides flags call stack scope forwardOp forwardScope runs spreadMs flops read written attrs line checkpoint given returned writes".split(
    " ",
  ),
);
const indices = new Set(
  "id s op tensor tensors module parent call stack scope forwardOp forwardScope in parameters buffers given returned".split(
    " ",
  ),
);
const names = new Set("t phase category as hook source flags mode type checkpoint".split(" "));

interface Fault {
  readonly line: number;
  readonly kind: string;
  readonly field: string;
  readonly value: unknown;
}

/** Values that `field` cannot have; undefined leaves it out. */
function wrongValues(field: string, right: unknown): unknown[] {
  const wrong: unknown[] = [null];
  if (typeof right !== "number") wrong.push(7);
  if (typeof right !== "string") wrong.push("x");
  if (typeof right !== "boolean") wrong.push(true);
  if (typeof right !== "object" || Array.isArray(right)) wrong.push({ a: 1 });
  if (!(Array.isArray(right) && typeof right[0] === "string") && !Array.isArray(right)) wrong.push([["x"]]);
  if (Array.isArray(right)) wrong.push([null], [["x"]], [1.5]);
  if (indices.has(field)) {
    const bad = [99, -7, 0.5, 1e12];
    wrong.push(...(Array.isArray(right) ? bad.map((n) => [n]) : bad));
  } else if (typeof right === "number" && field !== "version") wrong.push(-7);
  if (names.has(field)) {
    const bad = ["nonsense", "__proto__", "toString", "constructor"];
    wrong.push(...(Array.isArray(right) ? bad.map((n) => [n]) : bad));
  }
  if (field === "type")
    wrong.push(
      "float32",
      "float32[",
      "[2",
      "float32[-1]",
      "float32[1.5]",
      "float32[2,]",
      "float32[1e3]",
      "float32[99999999999999999]",
    );
  if (!optional.has(field)) wrong.push(undefined);
  return wrong;
}

function put(record: Record<string, unknown>, field: string, value: unknown): string {
  const { [field]: _, ...rest } = record;
  return JSON.stringify(value === undefined ? rest : { ...record, [field]: value });
}

function* faults(): Generator<Fault & { text: string }> {
  for (const [i, line] of lines.entries()) {
    const record = JSON.parse(line) as Record<string, unknown>;
    const kind = i === 0 ? "header" : (record["t"] as string);
    for (const [field, right] of Object.entries(record)) {
      if (i === 0 && (field === "remat" || field === "version")) continue;
      for (const value of wrongValues(field, right)) {
        // A complex tensor's storages are a list, other tensors' a number; either is understood.
        yield { line: i + 1, kind, field, value, text: put(record, field, value) };
      }
      if (field !== "out") continue;
      for (const [at, item] of (right as unknown[]).entries()) {
        if (typeof item !== "object") continue;
        for (const [inner, innerRight] of Object.entries(item as object))
          for (const value of wrongValues(inner, innerRight)) {
            // Without its bytes the storage is one that is not known.
            const named = inner === "bytes" && value === undefined ? "s" : inner;
            const out = (right as unknown[]).slice();
            out[at] = JSON.parse(put(item as Record<string, unknown>, inner, value));
            yield { line: i + 1, kind, field: `out[${at}].${named}`, value, text: put(record, "out", out) };
          }
      }
    }
  }
}

function refusal(text: string | Uint8Array): RematError | undefined {
  try {
    parseTrace(text, { name: "run" });
  } catch (error) {
    if (error instanceof RematError) return error;
    throw error;
  }
  return undefined;
}

describe("a corrupt trace", () => {
  it("holds every kind of record and field in this test", () => {
    const kinds = lines.map((line) => (JSON.parse(line) as { t?: string }).t ?? "header");
    expect([...new Set(kinds)].sort()).toEqual(
      "alloc call category end enter enterScope exit exitScope free fsdp header mark module op resize save savedOnly scope tensor unpack unsave weights".split(
        " ",
      ),
    );
    expect(parseTrace(lines.join("\n")).truncated).toBeUndefined();
  });

  it("is read up to what is wrong where that is asked for, whatever is wrong", () => {
    for (const { line, text } of faults()) {
      if (line === 1) continue;
      const broken = lines.with(line - 1, text).join("\n");
      const trace = parseTrace(broken, { name: "run", damaged: "keep" });
      const before = parseTrace(lines.slice(0, line - 1).join("\n"));
      expect(trace.truncated).toEqual({ line: line - 1, reason: refusal(broken)?.message });
      // An op's new storages and tensors may have come before what is wrong with it.
      expect(trace.ops).toEqual(before.ops);
      expect(trace.modules).toEqual(before.modules);
      expect(trace.events.kind.slice(0, before.events.count)).toEqual(before.events.kind);
    }
  });

  it("is read up to a line that is not JSON, and up to where gzip data is damaged", async () => {
    const broken = lines.with(9, "{not json").join("\n");
    expect(parseTrace(broken, { damaged: "keep" }).truncated?.line).toBe(9);
    expect((await readTrace([new TextEncoder().encode(broken)], { damaged: "keep" })).truncated?.line).toBe(9);
    const zipped = new Uint8Array(gzipSync(lines.join("\n")));
    zipped[zipped.length - 6] ^= 1;
    const trace = await readTrace([zipped], { damaged: "keep" });
    expect(trace.ops).toEqual(parseTrace(lines.join("\n")).ops);
    expect(trace.truncated?.reason).toMatch(/checksum does not match/);
  });

  it("is refused all the same where not even its header can be read", () => {
    expect(() => parseTrace("nothing", { damaged: "keep" })).toThrow(/not a remat trace/);
    expect(() => parseTrace(lines[0].replace(/"version":\d+/, '"version":99'), { damaged: "keep" })).toThrow(
      /version 99/,
    );
  });

  it("is refused naming line and field, for each wrong value of each field of each record", () => {
    const all = [...faults()];
    expect(all.length).toBeGreaterThan(500);
    const wrong = all
      .map(({ line, kind, field, value, text }) => {
        const error = refusal(lines.with(line - 1, text).join("\n"));
        const expected = `run line ${line}, field '${field}':`;
        return error?.code === "TRACE_CORRUPT" && error.message.startsWith(expected)
          ? undefined
          : { kind, field, value, found: error?.message };
      })
      .filter((fault) => fault !== undefined);
    expect(wrong).toEqual([]);
  });

  it("is refused naming the line that is no JSON or no text", () => {
    for (let i = 1; i < lines.length; i++) {
      const cut = lines.with(i, lines[i].slice(0, -1));
      expect(refusal(`${cut.join("\n")}\n`)?.message).toMatch(`run line ${i + 1}: not JSON: `);
      expect(refusal(`${lines.with(i, "").join("\n")}\n`)?.message).toMatch(`run line ${i + 1}: not JSON: `);
      expect(refusal(lines.with(i, "[1]").join("\n"))?.message).toMatch(
        `run line ${i + 1}, field 't': expected an object`,
      );
      const bytes = Buffer.from(lines.join("\n"));
      const at = lines.slice(0, i).join("\n").length + 5;
      bytes[at] = 0xff;
      if (i < lines.length - 1) expect(refusal(new Uint8Array(bytes))?.message).toMatch(`run line ${i + 1}: not UTF-8`);
    }
  });

  it("is refused where two records share a line, or one has two", () => {
    expect(refusal(lines.with(2, `${lines[2]},${lines[3]}`).toSpliced(3, 1).join("\n"))?.message).toMatch(
      "run line 3: not JSON",
    );
    const cut = lines[2].indexOf(",");
    const halves = [lines[2].slice(0, cut), lines[2].slice(cut + 1)];
    expect(refusal(lines.toSpliced(2, 1, ...halves).join("\n"))?.message).toMatch("run line 3: not JSON");
  });

  it("is refused where something follows the end record", () => {
    expect(refusal([...lines, lines.at(-2)].join("\n"))?.message).toMatch(
      `run line ${lines.length + 1}, field 't': found a record after the end record`,
    );
  });

  it("is refused where a tensor is saved for an op that never ran", () => {
    const at = lines.findIndex((line) => line.includes('"t":"save"'));
    const text = lines.with(at, lines[at].replace('"op":0', '"op":2')).join("\n");
    expect(refusal(text)?.message).toMatch(`run line ${lines.length}, field 'events': a saved tensor belongs to op 2`);
  });

  it("is refused for another version, naming both", () => {
    const error = refusal(lines.with(0, lines[0].replace('"version":1', '"version":2')).join("\n"));
    expect(error?.code).toBe("TRACE_VERSION");
    expect(error?.message).toBe(
      "run: trace format version 2, but this version of remat reads 1. Use the version that wrote it, or record it again.",
    );
  });

  const cutShort = "Recording was probably stopped, or the disk was full. Record it again.";
  const written = "Use a file written by `remat … --trace`.";
  it.each([
    ["nothing", "", `the file is empty. ${cutShort}`],
    ["no JSON", "hello\nworld\n", `its first line is not JSON. ${written}`],
    ["half a header", lines[0].slice(0, 20), `its first line is not a whole header. ${cutShort}`],
    ["other JSON", '{"a":1}\n', `its first line has no "remat":"trace". ${written}`],
  ])("is no trace at all if it has %s", (_, text, found) => {
    const error = refusal(text);
    expect(error?.code).toBe("TRACE_NOT_A_TRACE");
    expect(error?.message).toBe(`run: not a remat trace: ${found}`);
  });

  it.each([
    ["a record", 9, (deep: string) => deep],
    ["a field of a record", 9, (deep: string, line: string) => line.replace(/\}$/, `,"attrs":{"a":${deep}}}`)],
    ["a field that nobody reads", 9, (deep: string, line: string) => line.replace(/\}$/, `,"unknown":${deep}}`)],
    ["the last record", lines.length - 1, (deep: string, line: string) => line.replace(/\}$/, `,"unknown":${deep}}`)],
    ["the header", 0, (deep: string, line: string) => line.replace(/\}$/, `,"unknown":${deep}}`)],
  ])("is rejected if %s is nested more than 1,000 levels deep", (_, at, nest) => {
    const nested = (levels: number): string =>
      lines.with(at, nest(`${"[".repeat(levels)}${"]".repeat(levels)}`, lines[at])).join("\n");
    for (const levels of [1001, 5000, 200_000])
      for (const end of ["", "\n"]) {
        const { code, message } = refusal(`${nested(levels)}${end}`)!;
        expect(code).toBe(at === 0 ? "TRACE_NOT_A_TRACE" : "TRACE_CORRUPT");
        expect(message).toMatch(
          at === 0
            ? /^run: .*its first line is nested more than 1000 levels deep/
            : new RegExp(`^run line ${at + 1}: nested more than 1000 levels deep\\. Record the trace again`),
        );
      }
    expect(refusal(nested(900))?.message ?? "").not.toContain("levels deep");
  });

  it("understands lines that end in CR LF, and spaces", () => {
    expect(tellTrace(parseTrace(`${lines.join("\r\n")}\r\n  `.replaceAll('":', '" : ')))).toEqual(
      tellTrace(parseTrace(lines.join("\n"))),
    );
  });
});

describe("a damaged gzip file", () => {
  const told = tellTrace(threeOps());

  it.each([
    ["by this package", fileOf(threeOps(), { gzip: true })],
    ["by zlib", new Uint8Array(gzipSync(fileOf(threeOps())))],
  ])("written %s never reads as another trace", (_, bytes) => {
    const outcomes = { refused: 0, same: 0, truncated: 0 };
    for (let bit = 0; bit < bytes.length * 8; bit += 3) {
      const damaged = bytes.slice();
      damaged[bit >> 3] ^= 1 << (bit & 7);
      let trace: ReturnType<typeof parseTrace>;
      try {
        trace = parseTrace(damaged);
      } catch (error) {
        expect(error).toBeInstanceOf(RematError);
        outcomes.refused++;
        continue;
      }
      if (trace.truncated === undefined) {
        expect(tellTrace(trace)).toEqual(told);
        outcomes.same++;
      } else outcomes.truncated++;
    }
    expect(outcomes.refused).toBeGreaterThan(bytes.length * 2);
  });
});
