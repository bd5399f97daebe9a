import { FsdpHook, Phase, type TraceBuilder } from "@remat/trace";
import type { ModuleActivity } from "./module-activity.js";
import { fqnAt, type OracleEvent, type OracleFile } from "./oracle-file.js";

const beginOf: Readonly<Record<string, number>> = {
  pre_fw: FsdpHook.preForwardBegin,
  post_fw: FsdpHook.postForwardBegin,
  pre_bw: FsdpHook.preBackwardBegin,
  post_bw: FsdpHook.postBackwardBegin,
};
const endOf: Readonly<Record<string, number>> = {
  pre_fw: FsdpHook.preForwardEnd,
  post_fw: FsdpHook.postForwardEnd,
  pre_bw: FsdpHook.preBackwardEnd,
  post_bw: FsdpHook.postBackwardEnd,
};

/**
 * Writes FSDP's hooks as events, each at the moment at which PyTorch's tracker takes its snapshot: when a hook begins,
 * and at the last snapshot before it ends. The hook after the backward pass is an exception, because it categorizes the
 * gradients first.
 */
export class FsdpHooks {
  private readonly builder: TraceBuilder;
  private readonly activity: ModuleActivity;
  private readonly file: OracleFile;
  /** The `end` events that are already written. */
  private readonly written = new Set<number>();

  constructor(builder: TraceBuilder, activity: ModuleActivity, file: OracleFile) {
    this.builder = builder;
    this.activity = activity;
    this.file = file;
  }

  hook(event: OracleEvent, at: number): void {
    const kind = String(event.k);
    const begin = beginOf[kind];
    const end = endOf[kind];
    if (begin === undefined || end === undefined) throw new Error(`unknown hook ${JSON.stringify(kind)}`);
    if (event.ph === "end") {
      if (!this.written.has(at)) this.write(event, end);
    } else if (event.ph === (kind === "post_bw" ? "orig" : "begin")) this.write(event, begin);
  }

  /** Handles a snapshot of memory. If the next hook event is the end of a hook, it is written here. */
  snapshot(at: number): void {
    const { events } = this.file;
    let next = at + 1;
    while (next < events.length && events[next]?.e !== "hook" && events[next]?.e !== "snapshot") next++;
    const event = events[next];
    if (event?.e !== "hook" || event.ph !== "end") return;
    const end = endOf[String(event.k)];
    if (end === undefined) return;
    this.written.add(next);
    this.write(event, end);
  }

  private write(event: OracleEvent, hook: number): void {
    if (event.m === null || event.m === undefined) return;
    const fqn = fqnAt(this.file, event.m);
    const isForwardHook = event.k === "pre_fw" || event.k === "post_fw";
    const phase = isForwardHook ? (event.bw ? Phase.recompute : Phase.forward) : Phase.backward;
    const opens = hook === FsdpHook.preForwardBegin || hook === FsdpHook.preBackwardBegin;
    if (opens && !this.activity.isActive(fqn)) this.builder.enterModule(this.activity.enterInHook(fqn, phase), phase);
    const call = this.activity.latestCall(fqn);
    if (call !== undefined) this.builder.fsdpHook(call, phase, hook);
  }
}
