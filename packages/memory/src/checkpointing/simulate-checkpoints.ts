import type { CallIndex, CheckpointingTimes, OpIndex, StorageIndex } from "@remat/trace";
import { Act } from "./act.js";
import { bookkeepingOf, hostShare } from "./bookkeeping.js";
import type { CallModes } from "./call-modes.js";
import type { CallPart } from "./call-parts.js";
import type { CheckpointObserver } from "./checkpoint-observer.js";
import type { CheckpointableUnits } from "./checkpointable-units.js";
import type { StepScript } from "./step-script.js";

/** Memory and time of a step under `torch.utils.checkpoint`. */
export interface SimulatedCheckpoints {
  /** Peak memory of the step, in bytes. */
  readonly peakBytes: number;
  /** Bytes above `aboveBytes`, summed over the places of the script. This shows how far the step is from fitting. */
  readonly excess: number;
  /** Time for recomputation, in milliseconds. */
  readonly recomputeMs: number;
  /**
   * Overhead of checkpointing itself: hooks, frames, dispatch modes. It is 0 if the host's time is unknown. For a step
   * on an asynchronous device, it is the added time minus that of recomputation. It is negative if recomputation uses
   * time in which the device would be idle.
   */
  readonly bookkeepingMs: number;
}

/** The state of one checkpointed call, like `_CheckpointFrame` of `torch.utils.checkpoint`, or of a part of a call. */
interface Frame {
  readonly call: number;
  readonly part: CallPart | undefined;
  readonly outer: Frame | undefined;
  readonly isSelective: boolean;
  /** The storages from outside, and for an outermost frame the instances of them that it keeps alive. */
  readonly args: readonly number[];
  heldArgs: number[];
  /** The place of the last tensor that the call would have saved. Recomputation stops there. */
  last: number;
  /**
   * The number of references that keep the frame alive: its own saved tensors, and inner frames whose arguments it
   * saved.
   */
  alive: number;
  /** The last backward pass for which it ran again, or -1 for none. */
  recomputedIn: number;
  /** Results that a selective frame has saved and not yet returned: instance by storage. */
  readonly cached: Map<number, number>;
  /** Arguments that it has recomputed for inner frames. */
  readonly argsFor: Map<Frame, number[]>;
  readonly inner: Map<number, Frame>;
}

/**
 * Runs a step as PyTorch does when some module calls are checkpointed (`use_reentrant=False`), and tracks memory. It
 * follows the rules of `torch/utils/checkpoint.py`:
 *
 * - A checkpointed call saves only its arguments.
 * - When the backward pass needs a saved tensor of the call for the first time, the whole call runs again, up to the
 *   last tensor to be saved. The tensors saved by this run stay until each is needed.
 * - Arguments of a nested checkpointed call are saved by the outer call, and therefore recomputed as well.
 * - Selective checkpointing keeps the chosen results until the recomputation returns them.
 *
 * A part of a call keeps the inputs of its ops alive. When the backward pass needs one of its results for the first
 * time, the required ops run again, and each result is freed after its last use.
 */
export class CheckpointSimulator {
  readonly script: StepScript;
  private readonly units: CheckpointableUnits;
  private held = 0;
  private peak = 0;
  private excess = 0;
  private above = 0;
  private recomputeMs = 0;
  private bookkeepingMs = 0;
  /** The times when the host and the asynchronous device have finished all work so far. */
  private hostMs = 0;
  private deviceMs = 0;
  /** For each instance of a storage: references to it and its size. */
  private references = new Int32Array(1024);
  private sizes = new Float64Array(1024);
  private instances = 0;
  /** For each storage, its current instance, and the one that the program refers to. */
  private readonly current: Int32Array;
  private readonly referred: Int32Array;
  /** For each save, the frame that would have saved it, the instance kept alive for it, and whether it was released. */
  private readonly frameOf: (Frame | undefined)[];
  private readonly savedAs: Int32Array;
  private readonly isUnsaved: Uint8Array;
  /** For each place of the script, 1 if a backward pass has read a save there for the last time. */
  private readonly isReadUntil: Uint8Array;
  /** The backward pass that is reading now. */
  private pass = -1;
  /** For each storage, the instance that a backward pass read last. */
  private readonly read: Int32Array;
  /** For each storage, the instance that the code of a module refers to while it runs again, or -1. */
  private readonly local: Int32Array;
  private modes!: CallModes;
  private readonly observer: CheckpointObserver | undefined;
  private readonly countsBookkeeping: boolean;
  private readonly bookkeeping: CheckpointingTimes;
  /**
   * The time that the host needs to launch an op on an asynchronous device, and the time of the whole step without
   * checkpointing. Undefined if the host runs the ops.
   */
  private readonly beside: { readonly launchMs: number; readonly plainMs: number } | undefined;

  constructor(script: StepScript, units: CheckpointableUnits, observer?: CheckpointObserver) {
    this.script = script;
    this.observer = observer;
    this.units = units;
    const { known, launchMs } = hostShare(script.trace);
    this.bookkeeping = bookkeepingOf(script.trace);
    this.countsBookkeeping = known !== "unknown";
    this.beside = launchMs === undefined ? undefined : besides(launchMs, units.runtimeMs);
    this.current = new Int32Array(script.bytes.length);
    this.referred = new Int32Array(script.bytes.length);
    this.read = new Int32Array(script.bytes.length);
    this.local = new Int32Array(script.bytes.length).fill(-1);
    this.isReadUntil = new Uint8Array(script.count);
    for (const at of script.readUntil.keys()) this.isReadUntil[at] = 1;
    const saves = script.trace.saves.count;
    this.frameOf = new Array(saves);
    this.savedAs = new Int32Array(saves);
    this.isUnsaved = new Uint8Array(saves);
  }

  run(modes: CallModes, aboveBytes: number = Number.POSITIVE_INFINITY): SimulatedCheckpoints {
    this.modes = modes;
    this.above = aboveBytes;
    this.held = this.peak = this.excess = this.recomputeMs = this.bookkeepingMs = this.hostMs = this.deviceMs = 0;
    this.instances = 0;
    this.current.fill(-1);
    this.referred.fill(-1);
    this.read.fill(-1);
    this.frameOf.fill(undefined);
    this.savedAs.fill(-1);
    this.isUnsaved.fill(0);
    this.pass = -1;
    this.step();
    const { peak: peakBytes, excess, recomputeMs, beside } = this;
    let bookkeepingMs = this.countsBookkeeping ? this.bookkeepingMs : 0;
    if (beside !== undefined) bookkeepingMs = Math.max(this.hostMs, this.deviceMs) - beside.plainMs - recomputeMs;
    return { peakBytes, excess, recomputeMs, bookkeepingMs };
  }

  private step(): void {
    const { act, subject, count, savedStorage, passAt, readUntil, resizedTo } = this.script;
    const { isReadUntil, above, observer } = this;
    const { parts } = this.modes;
    let frame: Frame | undefined;
    let next = 0;
    let nextPart = parts.length > 0 ? parts[0].begin : -1;
    this.spend(this.modes.countedOps * this.bookkeeping.count);
    for (let at = 0; at < count; at++) {
      const item = subject[at];
      if (isReadUntil[at] === 1) for (const save of readUntil.get(at)!) this.forget(save);
      if (frame?.part?.end === at) frame = this.leavePart(frame);
      if (nextPart === at) {
        const part = parts[next++];
        nextPart = next < parts.length ? parts[next].begin : -1;
        frame ??= this.enterPart(part);
      }
      switch (act[at]) {
        case Act.make:
          this.referred[item] = this.current[item] = this.make(item);
          break;
        case Act.resize:
          this.resize(this.current[item], resizedTo.get(at)!);
          break;
        case Act.unrefer:
          if (this.referred[item] >= 0) this.release(this.referred[item]);
          this.referred[item] = -1;
          break;
        case Act.op:
          if (frame?.isSelective) this.cache(frame, item);
          this.launch(item);
          if (frame?.part !== undefined) this.holdKept(frame, frame.part, item);
          observer?.ran(item, this.current, false);
          break;
        case Act.save:
          // The inputs of a part are kept alive in any case.
          if (frame?.part !== undefined && !frame.part.made.has(savedStorage[item]))
            this.save(item, this.present(savedStorage[item]));
          else if (frame !== undefined) {
            this.frameOf[item] = frame;
            frame.alive++;
            frame.last = at;
            this.spend(this.bookkeeping.save);
          } else this.save(item, this.present(savedStorage[item]));
          break;
        case Act.unpack:
          this.pass = passAt[at];
          this.recomputeUnlessThere(this.frameOf[item]);
          this.read[savedStorage[item]] = this.savedAs[item];
          observer?.unpacked(item);
          break;
        case Act.unsave:
          this.unsave(item);
          break;
        case Act.enter:
          observer?.entered(item, this.current, false);
          if (frame?.part !== undefined && at > frame.part.lastOp && this.isCheckpointed(item))
            frame = this.leavePart(frame);
          if (this.modes.mode[item] > 0 && frame?.part === undefined) frame = this.enter(item, frame, at);
          break;
        case Act.exit:
          observer?.exited(item, this.current, false);
          if (frame?.call === item && frame.part === undefined) {
            const { outer } = frame;
            if (frame.alive === 0) this.end(frame);
            frame = outer;
          }
          break;
        case Act.event:
          observer?.passed(item, this.current);
          break;
      }
      if (this.held > above) this.excess += this.held - above;
    }
  }

  private isCheckpointed(call: CallIndex): boolean {
    return this.modes.mode[call] > 0 || this.modes.callsInParts.has(call);
  }

  private enter(call: CallIndex, outer: Frame | undefined, at: number): Frame {
    const frame = newFrame(call, this.units.args[call], { outer, isSelective: this.modes.mode[call] === 2 });
    if (outer === undefined) this.holdArgs(frame);
    else {
      outer.inner.set(call, frame);
      outer.alive++;
      outer.last = at;
    }
    this.countFrame(frame);
    return frame;
  }

  private enterPart(part: CallPart): Frame {
    const frame = newFrame(part.call, part.args, { part });
    this.holdArgs(frame);
    this.countFrame(frame);
    return frame;
  }

  /** Leaves a part. Inputs that are not needed to recompute any saved tensor are released. */
  private leavePart(frame: Frame): undefined {
    if (frame.alive === 0) return void this.end(frame);
    frame.heldArgs = frame.heldArgs.filter((instance, i) => {
      const isRead = !frame.part!.unread.includes(frame.args[i]);
      if (!isRead) this.release(instance);
      return isRead;
    });
    return undefined;
  }

  private holdArgs(frame: Frame): void {
    const later = new Set([...(frame.part?.keptArgs.values() ?? [])].flat());
    frame.heldArgs = frame.args.map((storage, place) => (later.has(place) ? -1 : this.hold(this.current[storage])));
  }

  /**
   * Keeps the results of an op that a part never runs again, and copies of the storages that a recomputed op writes
   * into.
   */
  private holdKept(frame: Frame, { keptArgs, copied }: CallPart, op: OpIndex): void {
    for (const storage of copied.get(op) ?? []) frame.heldArgs.push(this.make(storage));
    for (const place of keptArgs.get(op) ?? []) frame.heldArgs[place] = this.hold(this.current[frame.args[place]]);
  }

  /** Keeps the results of an op that a selective frame saves. */
  private cache(frame: Frame, op: OpIndex): void {
    this.spend(this.bookkeeping.dispatch);
    if (this.modes.isSaved[op] === 0) return;
    for (const storage of this.units.madeBy(op)) frame.cached.set(storage, this.hold(this.current[storage]));
  }

  private unsave(save: number): void {
    if (this.isUnsaved[save] === 1) return;
    this.isUnsaved[save] = 1;
    this.freeSaved(save);
    const frame = this.frameOf[save];
    if (frame !== undefined && --frame.alive === 0) this.end(frame);
  }

  /** Releases everything that a frame keeps, since nothing will be read from the frame any more. */
  private end(frame: Frame): void {
    for (const instance of frame.heldArgs) this.release(instance);
    frame.heldArgs = [];
    for (const instance of frame.cached.values()) this.release(instance);
    frame.cached.clear();
    const { outer } = frame;
    if (outer === undefined) return;
    outer.inner.delete(frame.call);
    this.releaseArgs(outer, frame);
    if (--outer.alive === 0) this.end(outer);
  }

  private releaseArgs(outer: Frame, frame: Frame): void {
    for (const instance of outer.argsFor.get(frame) ?? []) this.release(instance);
    outer.argsFor.delete(frame);
  }

  /**
   * Frees a recomputed tensor after a backward pass has read it. Autograd keeps the graph, and the next pass recomputes
   * it.
   */
  private forget(save: number): void {
    const frame = this.frameOf[save];
    if (frame === undefined || frame.part !== undefined) return;
    this.freeSaved(save);
  }

  private freeSaved(save: number): void {
    if (this.savedAs[save] < 0) return;
    this.observer?.unsaved(save);
    this.release(this.savedAs[save]);
    this.savedAs[save] = -1;
  }

  /**
   * Recomputes a frame unless its results are there. A part keeps recomputed tensors as long as autograd keeps the
   * graph.
   */
  private recomputeUnlessThere(frame: Frame | undefined): void {
    if (frame === undefined) return;
    const isThere = frame.part === undefined ? frame.recomputedIn === this.pass : frame.recomputedIn >= 0;
    if (!isThere) this.recompute(frame);
  }

  private recompute(frame: Frame): void {
    const { outer, args } = frame;
    this.recomputeUnlessThere(outer);
    frame.recomputedIn = this.pass;
    this.countFrame(frame);
    const instances = outer === undefined ? frame.heldArgs : (outer.argsFor.get(frame) ?? []);
    /** Storages that were set, and after each its instance before. */
    const before: number[] = [];
    const set = (storage: StorageIndex, instance: number): void => {
      before.push(storage, this.current[storage]);
      this.current[storage] = instance;
    };
    const given = frame.part === undefined ? args : args.filter((storage) => !frame.part!.unread.includes(storage));
    given.forEach((storage, i) => set(storage, instances[i] ?? this.current[storage]));
    if (frame.part === undefined) this.rerun(frame, set);
    else this.rerunPart(frame, frame.part, set);
    for (let i = before.length - 2; i >= 0; i -= 2) this.current[before[i]] = before[i + 1];
    // Each argument that the outer frame recomputed for this frame is needed once.
    if (outer !== undefined) this.releaseArgs(outer, frame);
  }

  /**
   * Returns whether recomputation may stop at the last saved tensor. `remat.apply` searches the producers of the call's
   * results for the op that saved this tensor. If it finds none, it runs the call to its end.
   */
  private stopsEarly({ call, last }: Frame): boolean {
    const { act, subject, unsavedAt, exit, returningNoTensors } = this.script;
    if (this.units.savedUnwritten.has(last)) return false;
    if (act[last] !== Act.save) return true;
    if (returningNoTensors.has(call)) return false;
    const freedAt = unsavedAt[subject[last]];
    return freedAt < 0 || freedAt > exit[call];
  }

  /** Runs the ops of a frame again and keeps the saved tensors that are still needed. */
  private rerun(frame: Frame, set: (storage: StorageIndex, instance: number) => void): void {
    const { script, units, modes, observer, above, local } = this;
    const { act, subject, savedStorage, scratchOf } = script;
    /** The storages that were made. */
    const made: number[] = [];
    const beforeExit = script.exit[frame.call] - 1;
    const end = this.stopsEarly(frame) ? Math.min(frame.last, beforeExit) : beforeExit;
    observer?.entered(frame.call, this.current, true);
    for (let at = script.enter[frame.call] + 1; at <= end; at++) {
      const item = subject[at];
      switch (act[at]) {
        case Act.make: {
          if (frame.isSelective && modes.isSaved[scratchOf[item]] === 1) break;
          const cached = frame.cached.get(item);
          if (cached !== undefined) frame.cached.delete(item);
          const instance = cached ?? this.make(item);
          local[item] = instance;
          made.push(item);
          set(item, instance);
          break;
        }
        case Act.unrefer:
          this.release(local[item]);
          local[item] = -1;
          break;
        case Act.op:
          if (frame.isSelective) this.spend(this.bookkeeping.dispatch);
          if (frame.isSelective && modes.isSaved[item] === 1) break;
          this.recomputeMs += units.runtimeMs[item];
          this.launch(item);
          observer?.ran(item, this.current, true);
          break;
        case Act.save:
          if (this.frameOf[item] !== frame || this.isUnsaved[item] === 1) break;
          this.freeSaved(item);
          this.save(item, this.current[savedStorage[item]]);
          this.spend(this.bookkeeping.save);
          break;
        case Act.exit:
          observer?.exited(item, this.current, true);
          break;
        case Act.enter: {
          observer?.entered(item, this.current, true);
          const inner = frame.inner.get(item);
          if (inner !== undefined && inner.alive > 0) {
            const given = inner.args.map((storage) => this.hold(this.current[storage]));
            this.releaseArgs(frame, inner);
            frame.argsFor.set(inner, given);
          }
          break;
        }
      }
      if (this.held > above) this.excess += this.held - above;
    }
    observer?.exited(frame.call, this.current, true);
    for (const storage of made) {
      this.release(local[storage]);
      local[storage] = -1;
    }
  }

  /**
   * Runs the ops of a part again that a saved tensor depends on. Each result stays until its last use, and each saved
   * tensor until it is read.
   */
  private rerunPart(frame: Frame, part: CallPart, set: (storage: StorageIndex, instance: number) => void): void {
    const { act, subject, maker, scratchOf } = this.script;
    for (const call of part.active) this.observer?.entered(call, this.current, true);
    for (let at = part.begin; at < part.end; at++) {
      const item = subject[at];
      switch (act[at]) {
        case Act.make: {
          if (!part.rerun.has(Math.max(maker[item], scratchOf[item]))) break;
          set(item, this.make(item));
          for (const save of part.savesOf.get(item) ?? [])
            if (this.frameOf[save] === frame && this.isUnsaved[save] === 0) this.save(save, this.current[item]);
          break;
        }
        case Act.unrefer:
          if (part.rerun.has(scratchOf[item])) this.release(this.current[item]);
          break;
        case Act.op:
          if (!part.rerun.has(item)) break;
          this.recomputeMs += this.units.runtimeMs[item];
          this.spend(this.bookkeeping.rerun);
          for (const copy of (part.copied.get(item) ?? []).map((storage) => this.make(storage))) this.release(copy);
          this.launch(item);
          this.observer?.ran(item, this.current, true);
          for (const storage of part.lastUses.get(item) ?? []) this.release(this.current[storage]);
          break;
        case Act.enter:
          this.observer?.entered(item, this.current, true);
          break;
        case Act.exit:
          this.observer?.exited(item, this.current, true);
          break;
      }
      if (this.held > this.above) this.excess += this.held - this.above;
    }
    this.observer?.exited(part.call, this.current, true);
  }

  /**
   * Returns the instance of a storage that the program has. A backward pass that is itself differentiated saves the
   * instance that it received. This may be a recomputed one.
   */
  private present(storage: StorageIndex): number {
    const given = this.read[storage];
    return given >= 0 && this.references[given] > 0 ? given : this.current[storage];
  }

  private save(save: number, instance: number): void {
    this.savedAs[save] = this.hold(instance);
    this.observer?.saved(save, this.savedAs[save]);
  }

  private countFrame({ isSelective }: Frame): void {
    this.spend(this.bookkeeping.frame + (isSelective ? this.bookkeeping.selective : 0));
  }

  /** Adds host time for the overhead of checkpointing. */
  private spend(ms: number): void {
    this.bookkeepingMs += ms;
    this.hostMs += ms;
  }

  /** Launches an op: the device runs it after all earlier ones. */
  private launch(op: OpIndex): void {
    if (this.beside === undefined) return;
    this.hostMs += this.beside.launchMs;
    this.deviceMs = Math.max(this.deviceMs, this.hostMs) + this.units.runtimeMs[op];
  }

  private make(storage: StorageIndex): number {
    const bytes = this.script.bytes[storage];
    this.held += bytes;
    if (this.held > this.peak) this.peak = this.held;
    const instance = this.instances++;
    if (instance === this.sizes.length) this.growInstances();
    this.references[instance] = 1;
    this.sizes[instance] = bytes;
    this.observer?.made(storage, instance);
    return instance;
  }

  private growInstances(): void {
    const { references, sizes } = this;
    this.references = new Int32Array(2 * references.length);
    this.references.set(references);
    this.sizes = new Float64Array(2 * sizes.length);
    this.sizes.set(sizes);
  }

  private resize(instance: number, bytes: number): void {
    if (instance < 0 || this.references[instance] === 0) return;
    this.held += bytes - this.sizes[instance];
    if (this.held > this.peak) this.peak = this.held;
    this.sizes[instance] = bytes;
    this.observer?.resized(instance, bytes);
  }

  private hold(instance: number): number {
    if (instance >= 0) this.references[instance]++;
    return instance;
  }

  private release(instance: number): void {
    if (instance >= 0 && --this.references[instance] === 0) {
      this.held -= this.sizes[instance];
      this.observer?.released(instance);
    }
  }
}

function besides(launchMs: number, runtimeMs: Float64Array): { readonly launchMs: number; readonly plainMs: number } {
  let hostMs = 0;
  let plainMs = 0;
  for (const ms of runtimeMs) {
    hostMs += launchMs;
    plainMs = Math.max(plainMs, hostMs) + ms;
  }
  return { launchMs, plainMs };
}

function newFrame(
  call: CallIndex,
  args: readonly number[],
  of: { readonly outer?: Frame | undefined; readonly isSelective?: boolean; readonly part?: CallPart },
): Frame {
  return {
    call,
    part: of.part,
    outer: of.outer,
    isSelective: of.isSelective ?? false,
    args,
    heldArgs: [],
    last: -1,
    alive: 0,
    recomputedIn: -1,
    cached: new Map(),
    argsFor: new Map(),
    inner: new Map(),
  };
}
