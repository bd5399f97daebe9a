import { type CallIndex, type ModuleIndex, type OpIndex, type StorageIndex, type TensorIndex } from "../index-types.js";
import { isTooDeep } from "../parse-json-text.js";
import type { CheckpointForm } from "../trace.js";
import { excerpt } from "../trace-field-error.js";
import { categoryNames, EventKind, OpFlag, phaseNames, runtimeSourceNames, savedAsNames } from "../vocabulary.js";
import { optionalRows, rows } from "./list-kinds.js";
import {
  amount,
  anyNumber,
  bits,
  count,
  flag,
  integer,
  optionalCount,
  optionalReference,
  reference,
} from "./number-kinds.js";
import type { RunTables } from "./run-tables.js";
import { type Table, table } from "./table.js";
import { distinctText, nameIn, optionalName, optionalText, sharedText } from "./text-kinds.js";

const tensor = reference<TensorIndex>("tensors");
const tensors = rows(tensor);

/** The form of each table in Arrow. */
export const traceTables: { readonly [Name in keyof RunTables]: Table<RunTables[Name]> } = {
  ops: table({
    name: sharedText(),
    phase: nameIn(phaseNames),
    flags: bits(Object.keys(OpFlag).length),
    stack: reference("stacks"),
    scope: optionalReference("scopes"),
    forwardOp: optionalReference<OpIndex>("ops"),
    forwardScope: optionalReference("scopes"),
    inputs: tensors,
    outputs: tensors,
    writes: tensors,
    attributes: sharedText({ isNullable: true, normalize: normalizedAttributes }),
    line: sharedText({ isNullable: true }),
    runtimeMs: amount("ms"),
    runtimeSource: nameIn(runtimeSourceNames),
    runtimeSpreadMs: amount("ms", true),
    runtimeRuns: count,
    flops: amount("operations", true),
    bytesRead: amount("bytes", true),
    bytesWritten: amount("bytes", true),
  }),
  storages: table({ bytes: amount("bytes"), device: sharedText(), category: nameIn(categoryNames) }),
  tensors: table({
    storage: reference<StorageIndex>("storages"),
    dtype: sharedText(),
    shape: rows(integer(0)),
    strides: rows(integer(Number.MIN_SAFE_INTEGER)),
  }),
  sharedTensors: table({ tensor, storages: rows(reference<StorageIndex>("storages")) }),
  events: table({ kind: nameIn(Object.keys(EventKind)), subject: count, value: anyNumber }),
  modules: table({ fqn: distinctText, kind: distinctText, leaf: flag }),
  calls: table({
    module: reference<ModuleIndex>("modules"),
    number: count,
    parent: optionalReference<CallIndex>("calls"),
    tensorInput: flag,
  }),
  stacks: table({ calls: rows(reference<CallIndex>("calls")) }),
  scopes: table({
    name: distinctText,
    parent: optionalReference("scopes"),
    checkpoint: optionalName<CheckpointForm>(["nonReentrant", "reentrant", "replayed"]),
    line: optionalText,
    given: optionalRows(tensor),
    returned: optionalRows(tensor),
  }),
  moduleEvents: table({ call: reference<CallIndex>("calls"), phase: nameIn(phaseNames), tensors }),
  saves: table({
    // A tensor can be saved for the next op, which may be missing in a truncated trace.
    op: optionalCount,
    storage: reference<StorageIndex>("storages"),
    tensor: optionalReference<TensorIndex>("tensors"),
    as: nameIn(savedAsNames),
  }),
  weights: table({ module: reference<ModuleIndex>("modules"), parameters: tensors, buffers: tensors }),
  marks: table({ name: distinctText }),
};

/**
 * Returns the attributes of an op in the form that `TraceBuilder` stores.
 *
 * @throws Error if they are not a JSON object
 */
function normalizedAttributes(written: string): string {
  let value: unknown;
  try {
    if (!isTooDeep(written)) value = JSON.parse(written);
  } catch {
    // Reported below.
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`expected a JSON object, found ${excerpt(written)}`);
  return JSON.stringify(value);
}
