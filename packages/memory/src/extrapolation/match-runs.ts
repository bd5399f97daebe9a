import { EventKind, type OpIndex, phaseNames, RematError, type Trace } from "@remat/trace";

/** A recorded run at one size. */
export interface SizedRun {
  /** Name of the run: its file. */
  readonly name: string;
  readonly trace: Trace;
}

/**
 * Checks that runs are the same step except for the sizes of tensors: the same ops, the same storages read and made,
 * and the same order of allocations and frees.
 *
 * @throws RematError `RUNS_DIFFER` with the first difference in both runs
 */
export function requireSameSteps([first, ...others]: readonly SizedRun[]): void {
  for (const other of others) {
    requireSameOps(first, other);
    requireSameEvents(first, other);
  }
}

function requireSameOps(a: SizedRun, b: SizedRun): void {
  const [ofA, ofB] = [a.trace.ops, b.trace.ops];
  const count = Math.min(ofA.count, ofB.count);
  for (let op = 0; op < count; op++) {
    if (a.trace.opName(op) !== b.trace.opName(op) || ofA.phase[op] !== ofB.phase[op])
      throw different(
        a,
        b,
        `op ${op} is ${describeOp(a.trace, op)} in one and ${describeOp(b.trace, op)} in the other`,
      );
    for (const side of ["inputs", "outputs"] as const)
      if (storagesOf(a.trace, op, side) !== storagesOf(b.trace, op, side))
        throw different(a, b, `op ${op}, ${describeOp(a.trace, op)}, has different ${side}`);
  }
  if (ofA.count !== ofB.count) {
    const [longer, shorter] = ofA.count > ofB.count ? [a, b] : [b, a];
    throw different(
      a,
      b,
      `${longer.name} has ${longer.trace.ops.count} ops and ${shorter.name} ${shorter.trace.ops.count}; they differ from op ${count}, ${describeOp(longer.trace, count)}, on`,
    );
  }
}

function requireSameEvents(a: SizedRun, b: SizedRun): void {
  const [ofA, ofB] = [a.trace.events, b.trace.events];
  let op = 0;
  for (let event = 0; event < Math.max(ofA.count, ofB.count); event++) {
    if (ofA.kind[event] !== ofB.kind[event] || !isSameSubject(a.trace, b.trace, event))
      throw different(
        a,
        b,
        `storages are allocated or freed at different times after op ${op - 1}, ${op === 0 ? "the beginning" : describeOp(a.trace, op - 1)}`,
      );
    if (ofA.kind[event] === EventKind.op) op = ofA.subject[event] + 1;
  }
}

/**
 * Compares names as strings, since each trace has its own indices for them. For everything else the numbers must be
 * equal.
 */
function isSameSubject(a: Trace, b: Trace, event: number): boolean {
  const [subject, other] = [a.events.subject[event], b.events.subject[event]];
  if (a.events.kind[event] === EventKind.mark) return a.strings[subject] === b.strings[other];
  if (a.events.kind[event] === EventKind.categorize && a.events.value[event] !== b.events.value[event]) return false;
  return subject === other;
}

function storagesOf(trace: Trace, op: OpIndex, side: "inputs" | "outputs"): string {
  const tensors = side === "inputs" ? trace.opInputs(op) : trace.opOutputs(op);
  return Array.from(tensors, (tensor) => trace.tensorStorages(tensor).join("+")).join();
}

function describeOp(trace: Trace, op: OpIndex): string {
  const place = [trace.opModule(op)?.fqn, trace.opLine(op)].filter((part) => part !== undefined);
  return `${trace.opName(op)} (${[phaseNames[trace.ops.phase[op]], ...place].join(", ")})`;
}

function different({ name }: SizedRun, other: SizedRun, what: string): RematError {
  return new RematError(
    "RUNS_DIFFER",
    `${name} and ${other.name} are not the same step at different sizes: ${what}. Record runs in a range of sizes where the ops stay the same.`,
  );
}
