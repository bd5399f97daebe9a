import type { Golden } from "@remat/testkit";
import { EventKind, OpFlag, type Trace } from "@remat/trace";
import { InPlaceParents } from "../src/in-place-parents.js";
import { keptBytesOfOps, outputStorages } from "../src/output-storages.js";

/** An event of a `sac-oracle/1` file with upstream's answers in it. */
interface SacEvent {
  readonly e: string;
  readonly raised?: string;
  /** For an op: bytes, index, in-place op and parent over the whole run, view-like, random. */
  readonly mem?: number;
  readonly i?: number;
  readonly ip?: readonly [number, number];
  readonly v?: number;
  readonly r?: number;
  /** For an entered module: ops so far, and whether random ops are always stored. */
  readonly start?: number;
  readonly fsr?: boolean;
  /** For a module that is left: storages that autograd saves. */
  readonly saved?: number;
}

/**
 * Compares upstream's notes from the running model with the same from remat's trace. Returns the first difference, with
 * both sides.
 */
export function eventsDifference(golden: Golden, trace: Trace): string | undefined {
  const events = (golden["events"] as readonly SacEvent[]).filter((event) => event.raised === undefined);
  const outputs = outputStorages(trace);
  const bytes = keptBytesOfOps(trace, outputs);
  const parents = new InPlaceParents(outputs);
  const saved = new Set<number>();
  let ops = 0;
  /** Our events that have a counterpart, in order. */
  const ours: Record<string, unknown>[] = [];
  for (let at = 0; at < trace.events.count; at++) {
    const subject = trace.events.subject[at];
    switch (trace.events.kind[at]) {
      case EventKind.op: {
        const flags = trace.ops.flags[subject];
        ours.push({
          e: "op",
          mem: bytes[subject],
          i: ops,
          ...(flags & OpFlag.inPlace && { ip: [subject, parents.find(subject, 0)] }),
          ...(flags & OpFlag.view && { v: 1 }),
          ...(flags & OpFlag.random && { r: 1 }),
        });
        ops++;
        break;
      }
      case EventKind.enterModule: {
        const call = trace.moduleEvents.call[subject];
        const { leaf } = trace.modules[trace.calls.module[call]];
        ours.push({
          e: "pre",
          leaf: leaf ? 1 : 0,
          ...(!leaf && { start: ops, fsr: trace.calls.tensorInput[call] === 0 }),
        });
        break;
      }
      case EventKind.exitModule:
        ours.push({ e: "post", saved: saved.size });
        break;
      case EventKind.save:
        saved.add(trace.saves.storage[subject]);
        break;
    }
  }
  const theirs = events.filter(({ e }) => e !== "pack");
  if (theirs.length !== ours.length) return `events: ${theirs.length} ops and modules, ours ${ours.length}`;
  for (const [n, event] of theirs.entries()) {
    for (const field of ["e", "mem", "i", "ip", "v", "r", "leaf", "start", "fsr", "saved"] as const) {
      const expected = JSON.stringify((event as unknown as Record<string, unknown>)[field]);
      const found = JSON.stringify(ours[n][field]);
      if (expected !== found) return `events: ${field} of ${event.e} ${n}: ${expected}, ours ${found}`;
    }
  }
  return undefined;
}
