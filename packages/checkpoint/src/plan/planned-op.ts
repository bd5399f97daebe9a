import type { OpDone } from "@remat/dispatch-hook";
import { phaseNames } from "@remat/trace";

/** What of an op a plan tells. @internal */
export interface PlannedOp {
  readonly phase: string;
  readonly kernel: string;
  readonly outputs: readonly { readonly dtype: string; readonly shape: readonly number[] }[];
}

const occurrence = /^.* (\w+) (\S+) \d+: (.*)$/s;
const output = /^(\w+)\[([\d,]*)\]$/;

/**
 * What of an occurrence (trace rule T9) an op can be compared with as it runs: phase, kernel, and what the outputs look like. A plan names all ops
 * in their order, so the module call and the ordinal in it follow from where the op stands.
 *
 * @internal
 */
export function plannedOp(planned: string): PlannedOp {
  const [, phase = "", kernel = "", made = ""] = occurrence.exec(planned) ?? [];
  const outputs = made.split(" ").filter((text) => text !== "");
  return { phase, kernel, outputs: outputs.map(outputOf) };
}

function outputOf(text: string): PlannedOp["outputs"][number] {
  const [, dtype = text, shape = ""] = output.exec(text) ?? [];
  return { dtype, shape: shape === "" ? [] : shape.split(",").map(Number) };
}

/** Whether an op that has run is the one that was planned. Compared without text: this is done for every op of every step. @internal */
export function isAsPlanned(op: OpDone, planned: PlannedOp | undefined): boolean {
  if (planned === undefined || planned.kernel !== op.kernel || planned.phase !== phaseNames[op.phase]) return false;
  const { outputs } = op;
  if (planned.outputs.length !== outputs.length) return false;
  for (let i = 0; i < outputs.length; i++) {
    const { dtype, shape } = planned.outputs[i];
    const found = outputs[i];
    if (dtype !== found.dtype || shape.length !== found.shape.length) return false;
    for (let axis = 0; axis < shape.length; axis++) if (shape[axis] !== found.shape[axis]) return false;
  }
  return true;
}

/** An op that has run, for messages. @internal */
export function describeOp({ phase, kernel, outputs }: OpDone): string {
  const made = outputs.map(({ dtype, shape }) => `${dtype}[${shape.join(",")}]`);
  return `${phaseNames[phase]} ${kernel}: ${made.join(" ")}`;
}
