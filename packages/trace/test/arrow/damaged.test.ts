import { describe, expect, it } from "vitest";
import { readArrowTrace, writeArrowTrace } from "../../src/arrow/index.js";
import { parseTrace, RematError, Trace, type TraceParts } from "../../src/index.js";
import { fileOf, joinBytes } from "../bytes.js";
import { everyRecord } from "../every-record.js";
import { tellTrace } from "../tell-trace.js";
import { threeOps } from "../three-ops.js";

const arrowOf = (trace: Trace): Uint8Array => joinBytes(writeArrowTrace(trace, { compress: false }));
const trace = parseTrace(everyRecord().join("\n"));
const whole = arrowOf(threeOps());

function refusal(bytes: Uint8Array): RematError | undefined {
  try {
    readArrowTrace(bytes, { name: "run" });
  } catch (error) {
    if (error instanceof RematError) return error;
    throw error;
  }
  return undefined;
}

describe("an Arrow file that ends early", () => {
  it("is rejected wherever it ends", () => {
    for (let length = 0; length < whole.length; length++) {
      const error = refusal(whole.subarray(0, length));
      expect(error?.code).toBe(length < 6 ? "TRACE_NOT_A_TRACE" : "TRACE_CUT_SHORT");
      if (length >= 6)
        expect(error?.message).toBe(
          "run: the file ends early, because writing or copying was stopped or the disk was full. No part of an Arrow file can be read without its end. Copy or write it again.",
        );
    }
  });

  it("is rejected if its end is zeros, as after a crash", () => {
    for (const length of [whole.length - 1, whole.length >> 1, 100]) {
      const zeros = whole.slice().fill(0, length);
      expect(refusal(zeros)?.code).toBe("TRACE_CUT_SHORT");
    }
  });

  it("is rejected if a part is missing, except for the mark before its footer", () => {
    let accepted = 0;
    for (let cut = 8; cut < whole.length - 8; cut += 8) {
      const error = refusal(joinBytes([whole.subarray(0, cut), whole.subarray(cut + 8)]));
      if (error === undefined) accepted++;
      else expect(error.code).toMatch(/^TRACE_(?:CORRUPT|CUT_SHORT|VERSION|NOT_A_TRACE)$/);
    }
    expect(accepted).toBe(1);
  });
});

describe("a damaged Arrow file", () => {
  it("is rejected, or is a trace that can be written and read", () => {
    const outcomes = { rejected: 0, same: 0, other: 0 };
    const told = tellTrace(threeOps());
    for (let bit = 0; bit < whole.length * 8; bit += 67) {
      const damaged = whole.slice();
      damaged[bit >> 3] ^= 1 << (bit & 7);
      let read: Trace;
      try {
        read = readArrowTrace(damaged, { name: "run" });
      } catch (error) {
        expect(error).toBeInstanceOf(RematError);
        expect((error as RematError).message).toMatch(/^run.*(?:Record|Use|Copy) /);
        outcomes.rejected++;
        continue;
      }
      const again = tellTrace(read);
      expect(tellTrace(parseTrace(fileOf(read)))).toEqual(again);
      if (JSON.stringify(again) === JSON.stringify(told)) outcomes.same++;
      else outcomes.other++;
    }
    // Many bits are padding, or a byte of a number. Nothing in an uncompressed file can tell.
    expect(outcomes.rejected).toBeGreaterThan(200);
    expect(outcomes.same).toBeGreaterThan(200);
  });
});

type Change = (parts: TraceParts) => Partial<TraceParts>;
/** Returns a copy of a column with another value. */
function put<T extends Float64Array | Int32Array | Uint16Array | Uint8Array>(
  column: T,
  place: number,
  value: number,
): T {
  const copy = column.slice() as T;
  copy[place] = value;
  return copy;
}

const ops =
  (
    name: "flags" | "flops" | "forwardOp" | "forwardScope" | "phase" | "runtimeRuns" | "scope" | "stack",
    value: number,
  ): Change =>
  (parts) => ({ ops: { ...parts.ops, [name]: put(parts.ops[name], 1, value) } });
const firstInput =
  (value: number): Change =>
  (parts) => ({
    ops: { ...parts.ops, inputs: { ...parts.ops.inputs, values: put(parts.ops.inputs.values, 1, value) } },
  });
const storageBytes =
  (value: number): Change =>
  (parts) => ({ storages: { ...parts.storages, bytes: put(parts.storages.bytes, 1, value) } });
const shape =
  (value: number): Change =>
  ({ tensors }) => ({
    tensors: { ...tensors, shape: { ...tensors.shape, values: put(tensors.shape.values, 2, value) } },
  });
const event =
  (kind: number, column: "subject" | "value", value: number): Change =>
  ({ events }) => ({ events: { ...events, [column]: put(events[column], events.kind.indexOf(kind), value) } });
const attributes =
  (text: string): Change =>
  (parts) => ({
    strings: [...parts.strings, text],
    ops: { ...parts.ops, attributes: put(parts.ops.attributes, 1, parts.strings.length) },
  });

describe("a wrong value in an Arrow file", () => {
  it.each<readonly [string, Change, string]>([
    [
      "a name that is not known",
      ops("phase", 7),
      "ops row 1, field 'phase': expected one of forward, backward, optimizer, recompute, outside, found 7",
    ],
    ["an unknown flag", ops("flags", 64), "ops row 1, field 'flags': expected 0 to 63, found 64"],
    ["a stack that is not there", ops("stack", 3), "ops row 1, field 'stack': expected 0 to 2, found 3"],
    ["a scope that is not there", ops("scope", -2), "ops row 1, field 'scope': expected -1 to 1, found -2"],
    ["a later op", ops("forwardOp", 1), "ops row 1, field 'forwardOp': expected an earlier row, found 1"],
    ["an op that is not there", ops("forwardOp", 2), "ops row 1, field 'forwardOp': expected -1 to 1, found 2"],
    ["a negative count", ops("runtimeRuns", -1), "ops row 1, field 'runtimeRuns': expected 0 to 2147483647, found -1"],
    ["a negative amount", ops("flops", -1), "ops row 1, field 'flops': expected a number of operations, found -1"],
    [
      "an infinite amount",
      ops("flops", Number.POSITIVE_INFINITY),
      "ops row 1, field 'flops': expected a number of operations, found Infinity",
    ],
    [
      "an amount that is not known",
      storageBytes(Number.NaN),
      "storages row 1, field 'bytes': expected a number of bytes, found NaN",
    ],
    ["a tensor that is not there", firstInput(2), "ops row 1, field 'inputs': expected 0 to 1, found 2"],
    [
      "a negative size",
      shape(-1),
      "tensors row 1, field 'shape': expected an integer from 0 to 9007199254740991, found -1",
    ],
    [
      "attributes that are not JSON",
      attributes("{"),
      "ops row 1, field 'attributes': expected a JSON object, found \"{\"",
    ],
    [
      "attributes that are a list",
      attributes("[]"),
      "ops row 1, field 'attributes': expected a JSON object, found \"[]\"",
    ],
    [
      "attributes that are too deep",
      attributes(`{"a":${"[".repeat(2000)}${"]".repeat(2000)}}`),
      "ops row 1, field 'attributes': expected a JSON object, found ",
    ],
    [
      "events out of order",
      event(1, "subject", 1),
      "events row 1, field 'subject': expected 0, the next of its kind, found 1",
    ],
    [
      "a storage that is not allocated yet",
      event(3, "subject", 2),
      "events row 2, field 'subject': expected a row below 1, found 2",
    ],
    [
      "a size that is not a number",
      event(3, "value", Number.NaN),
      "events row 2, field 'value': expected a number of bytes, found NaN",
    ],
    ["a category that is not there", event(4, "value", 14), "field 'value': expected 0 to 13, found 14"],
    ["a hook that is not there", event(11, "value", 8), "events row 0, field 'value': expected 0 to 7, found 8"],
    ["a value where none belongs", event(2, "value", 1), "field 'value': expected 0, found 1"],
    [
      "an unknown event",
      ({ events }) => ({ events: { ...events, kind: put(events.kind, 0, 15) } }),
      "events row 0, field 'kind': expected one of op, allocate, ",
    ],
    [
      "a tensor before its storage",
      ({ tensors }) => ({
        tensors: { ...tensors, storage: put(tensors.storage, 1, 0), moreStorages: new Map([[0, [0, 2]]]) },
      }),
      "found tensor 0 before its storage is allocated",
    ],
    [
      "several storages without its own",
      ({ tensors }) => ({ tensors: { ...tensors, moreStorages: new Map([[0, [1, 2]]]) } }),
      "sharedTensors, field 'storages': expected several for tensor 0, its own first",
    ],
    [
      "a module without a name",
      ({ modules }) => ({ modules: modules.with(0, { ...modules[0], fqn: "" }) }),
      "modules row 0, field 'fqn': expected the name of a module, found an empty one",
    ],
    [
      "a call inside a later one",
      ({ calls }) => ({ calls: { ...calls, parent: put(calls.parent, 0, 1) } }),
      "calls row 0, field 'parent': expected an earlier row, found 1",
    ],
    [
      "a wrong number of a call",
      ({ calls }) => ({ calls: { ...calls, number: put(calls.number, 1, 1) } }),
      "calls row 1, field 'number': expected 0, found 1",
    ],
    [
      "a scope inside a later one",
      ({ scopes }) => ({ scopes: scopes.with(0, { ...scopes[0], parent: 1 }) }),
      "scopes row 0, field 'parent': expected an earlier row, found 1",
    ],
    [
      "an unknown form of a region",
      ({ scopes }) => ({ scopes: scopes.with(0, { ...scopes[0], checkpoint: "some" as never }) }),
      "scopes row 0, field 'checkpoint': expected one of nonReentrant, reentrant, replayed, found some",
    ],
    [
      "a save of a later op",
      ({ saves }) => ({ saves: { ...saves, op: put(saves.op, 0, 3) } }),
      "saves row 0, field 'op': expected at most 2, found 3",
    ],
    [
      "a save of an op that never ran",
      ({ saves }) => ({ saves: { ...saves, op: put(saves.op, 0, 2) } }),
      "saves row 0, field 'op': expected an op that ran, found 2",
    ],
    [
      "a missing event",
      ({ events }) => ({
        events: {
          ...events,
          count: events.count - 10,
          kind: events.kind.subarray(0, -10),
          subject: events.subject.subarray(0, -10),
          value: events.value.subarray(0, -10),
        },
      }),
      "events, field 'kind': expected 2 events for the table ops, found 1",
    ],
    [
      "a damaged header",
      ({ header }) => ({ header: { ...header, mode: "some" as never } }),
      'run, field \'mode\': expected "fake" or "real", found "some"',
    ],
    [
      "a damaged end",
      () => ({ truncated: { line: -1, reason: "" } }),
      "run, field 'truncated': expected a line and a reason",
    ],
    [
      "columns of different lengths",
      (parts) => ({ ops: { ...parts.ops, phase: new Uint8Array(3) } }),
      "ops, field 'phase': it has 3 rows, and its table has 2",
    ],
    [
      "lists that end early",
      ({ stacks }) => ({ stacks: { ...stacks, values: Int32Array.of(...stacks.values, 0) } }),
      "stacks, field 'calls': its lists end at ",
    ],
  ])("is rejected with its place: %s", (_, change, message) => {
    const error = refusal(arrowOf(new Trace({ ...trace, ...change(trace) })));
    expect(error?.code).toBe("TRACE_CORRUPT");
    expect(error?.message).toContain(message);
    expect(error?.message).toMatch(/^run.* Record the trace again\.$/);
  });

  it("is rejected with the number of its run", () => {
    const recordedIn = new Map([["bfloat16", new Trace({ ...trace, ...ops("flops", -1)(trace) })]]);
    expect(refusal(arrowOf(new Trace({ ...trace, recordedIn })))?.message).toContain(
      "run run 2, ops row 1, field 'flops'",
    );
  });
});
