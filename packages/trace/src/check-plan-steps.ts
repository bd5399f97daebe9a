import type { Plan, PlanValue } from "./plan.js";
import { PlanFieldError } from "./plan-fields.js";
import { formatPlanOp } from "./plan-op.js";

/**
 * Checks that a plan can be followed. Every op runs before it is recomputed. A value is created before it is freed or
 * offloaded. A value is reloaded only if it was offloaded and is not on the device.
 *
 * @throws PlanFieldError
 * @internal
 */
export function checkPlanSteps({ ops, steps, origin }: Plan): void {
  const runs = new Uint8Array(ops.length);
  const moves = new MovedValues();
  let next = 0;
  for (const [i, { op, isRecomputed, free, offload = [], reload = [] }] of steps.entries()) {
    if (isRecomputed !== (runs[op] === 1))
      throw new PlanFieldError(
        `steps[${i}]`,
        isRecomputed ? "an op that has run" : "an op that has not run",
        `op ${op}`,
      );
    if (!isRecomputed && origin.order === "fixed" && op !== next++)
      throw new PlanFieldError(`steps[${i}]`, `op ${next - 1}, the next in a fixed order`, `op ${op}`);
    runs[op] = 1;
    for (const [field, values] of Object.entries({ free, offload }))
      for (const value of values)
        if ("op" in value && runs[value.op] === 0)
          throw new PlanFieldError(`steps[${i}].${field}`, "a computed value", `op ${value.op}`);
    moves.step(i, { op, free, offload, reload });
  }
  const missing = runs.indexOf(0);
  if (missing >= 0)
    throw new PlanFieldError("steps", "every op to run", `no run of op ${missing} (${formatPlanOp(ops[missing])})`);
}

/** Tracks which offloaded values are also on the device at the moment. All offloaded values are in host memory. */
class MovedValues {
  private readonly isOnDevice = new Map<string, { isThere: boolean }>();
  private readonly ofOp = new Map<number, { isThere: boolean }[]>();

  step(
    i: number,
    { op, free, offload, reload }: Record<"free" | "offload" | "reload", readonly PlanValue[]> & { op: number },
  ): void {
    const { isOnDevice, ofOp } = this;
    if (isOnDevice.size === 0 && offload.length === 0 && reload.length === 0) return;
    for (const known of ofOp.get(op) ?? []) known.isThere = true;
    for (const value of free) {
      const known = isOnDevice.get(nameOf(value));
      if (known !== undefined) known.isThere = false;
    }
    for (const value of offload) {
      const name = nameOf(value);
      if (!("op" in value)) throw new PlanFieldError(`steps[${i}].offload`, "an output of an op", name);
      if (isOnDevice.has(name))
        throw new PlanFieldError(`steps[${i}].offload`, "a value that is offloaded only once", name);
      const moved = { isThere: false };
      isOnDevice.set(name, moved);
      ofOp.set(value.op, [...(ofOp.get(value.op) ?? []), moved]);
    }
    for (const value of reload) {
      const name = nameOf(value);
      const known = isOnDevice.get(name);
      if (known === undefined) throw new PlanFieldError(`steps[${i}].reload`, "an offloaded value", name);
      if (known.isThere) throw new PlanFieldError(`steps[${i}].reload`, "a value that is not on the device", name);
      known.isThere = true;
    }
  }
}

const nameOf = (value: PlanValue): string => ("source" in value ? `s${value.source}` : `${value.op}:${value.output}`);
