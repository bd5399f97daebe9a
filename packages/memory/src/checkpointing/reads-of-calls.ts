import { Phase } from "@remat/trace";
import { Act } from "./act.js";
import type { StepScript } from "./step-script.js";

/** By save: the calls that it is in. */
type CallsOfSave = ReadonlyMap<number, readonly number[]>;

/**
 * Returns the calls whose gradient has a gradient of its own: while the backward pass reads what they saved, it saves for another. `torch.utils.checkpoint` runs
 * such a call again in each of the two.
 */
export function savedAgain(script: StepScript, callsOfSave: CallsOfSave): ReadonlySet<number> {
  const { act, subject, count, trace } = script;
  const { phase } = trace.ops;
  const isInBackward = (item: number | undefined): boolean => item !== undefined && phase[item] === Phase.backward;
  /** By place: saves of the backward pass before it. */
  const savesBefore = new Int32Array(count + 1);
  const firstRead = new Map<number, number>();
  const lastRead = new Map<number, number>();
  const next = nextOps(script);
  let previous: number | undefined;
  for (let at = 0; at < count; at++) {
    const item = subject[at];
    // Between two ops of the backward pass; an op may save before it runs.
    const counts =
      act[at] === Act.save &&
      isInBackward(previous) &&
      isInBackward(next[at]) &&
      (callsOfSave.get(item) ?? []).length === 0;
    savesBefore[at + 1] = savesBefore[at] + (counts ? 1 : 0);
    if (act[at] === Act.op) previous = item;
    if (act[at] !== Act.unpack) continue;
    for (const call of callsOfSave.get(item) ?? []) {
      if (!firstRead.has(call)) firstRead.set(call, at);
      lastRead.set(call, at);
    }
  }
  return new Set(
    [...firstRead].filter(([call, at]) => savesBefore[lastRead.get(call)!] > savesBefore[at]).map(([call]) => call),
  );
}

/** By place: the first op from there on. */
function nextOps({ act, subject, count }: StepScript): (number | undefined)[] {
  const next = new Array<number | undefined>(count);
  for (let at = count - 1; at >= 0; at--) next[at] = act[at] === Act.op ? subject[at] : next[at + 1];
  return next;
}

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

/** Returns, by call, the op before which the backward pass reads for the last time what was saved in it. */
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
