import { Act } from "./act.js";
import type { StepScript } from "./step-script.js";

/** For each save, the calls that contain it. */
type CallsOfSave = ReadonlyMap<number, readonly number[]>;

/** Returns the calls that several backward passes read from. */
export function readAgain({ act, subject, count, passAt }: StepScript, callsOfSave: CallsOfSave): ReadonlySet<number> {
  const passOf = new Map<number, number>();
  const found = new Set<number>();
  for (let at = 0; at < count; at++) {
    if (act[at] !== Act.unpack) continue;
    for (const call of callsOfSave.get(subject[at]) ?? []) {
      if ((passOf.get(call) ?? passAt[at]) !== passAt[at]) found.add(call);
      passOf.set(call, passAt[at]);
    }
  }
  return found;
}

/** Returns, for each call, the op before which the backward pass reads a tensor saved in the call for the last time. */
export function lastReadsOf(
  { act, subject, count }: StepScript,
  callsOfSave: CallsOfSave,
): ReadonlyMap<number, number> {
  const last = new Map<number, number>();
  let op = 0;
  for (let at = 0; at < count; at++)
    if (act[at] === Act.op) op = subject[at];
    else if (act[at] === Act.unpack) for (const call of callsOfSave.get(subject[at]) ?? []) last.set(call, op);
  return last;
}
