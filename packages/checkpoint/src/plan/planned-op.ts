import type { OpDone } from "@remat/dispatch-hook";
import { haveSameTypes, type Occurrence, type OpSignature, phaseNames } from "@remat/trace";

/**
 * Tells whether an op that has run is the one that was planned. A plan names all ops in their order, so the module call and the ordinal in it follow
 * from where the op stands. This is done for every op of every step: no object is made.
 *
 * @internal
 */
export function isAsPlanned(op: OpDone, planned: Occurrence | undefined): boolean {
  return (
    planned !== undefined &&
    planned.kernel === op.kernel &&
    planned.phase === phaseNames[op.phase] &&
    haveSameTypes(planned.outputs, op.outputs)
  );
}

/** Copies what can be told of an op that has run from its tensors. @internal */
export function signatureOf({ phase, kernel, outputs }: OpDone): OpSignature {
  const types = outputs.map(({ dtype, shape }) => ({ dtype, shape: [...shape] }));
  return { phase: phaseNames[phase], kernel, outputs: types };
}
