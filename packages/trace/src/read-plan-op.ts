import type { Occurrence } from "./occurrence.js";
import type { PlanSubject } from "./plan.js";
import { PlanFieldError, readIndex, readList, readNumber, readRecord, readText } from "./plan-fields.js";
import type { PlanNode, PlanOp } from "./plan-op.js";
import { parseTensorType, type TensorType } from "./tensor-type.js";
import { type PhaseName, phaseNames } from "./vocabulary.js";

/**
 * Returns a reader for the items of a plan's `ops`. Outputs of the same dtype and shape share one type object.
 * @internal
 */
export function planOpReader(kind: PlanSubject["kind"]): (item: unknown) => PlanOp {
  if (kind === "graph") return readNode;
  const types = new Map<unknown, TensorType>();
  const typeOf = (written: unknown): TensorType => {
    const known = types.get(written);
    if (known !== undefined) return known;
    const type = parseTensorType(readText("", written));
    if (type === undefined) throw new PlanFieldError("", "a dtype and a shape in brackets", written);
    types.set(written, type);
    return type;
  };
  return (item) => readOccurrence(item, typeOf);
}

function readOccurrence(item: unknown, typeOf: (written: unknown) => TensorType): Occurrence {
  const op = readRecord("", item);
  const module = op["module"];
  return {
    module: module === undefined ? undefined : readText(".module", module),
    call: readCount(".call", op["call"]),
    phase: readPhase(op["phase"]),
    kernel: readText(".kernel", op["kernel"]),
    ordinal: readCount(".ordinal", op["ordinal"]),
    outputs: readList(".outputs", op["outputs"], typeOf),
  };
}

function readNode(item: unknown): PlanNode {
  const node = readRecord("", item);
  const readItem = (value: unknown): number => readNumber("", value);
  return {
    name: readText(".name", node["name"]),
    inputs: readList(".inputs", node["inputs"], readItem),
    outputBytes: readList(".outputBytes", node["outputBytes"], readItem),
    cost: readNumber(".cost", node["cost"]),
  };
}

/** Reads a number of preceding items. Files leave it out if it is 0. */
function readCount(field: string, value: unknown): number {
  return value === undefined ? 0 : readIndex(field, value, Number.MAX_SAFE_INTEGER);
}

function readPhase(value: unknown): PhaseName {
  const phase = value as PhaseName;
  if (!phaseNames.includes(phase)) throw new PlanFieldError(".phase", `one of ${phaseNames.join(", ")}`, value);
  return phase;
}
