import { type UpdateCall, type UpdateTurns, withDispatchModeSync } from "@remat/dispatch-hook";
import type { MemoryMeter } from "../memory-meter.js";
import { gradientsIn } from "./gradients-in.js";
import { type TurnScripts, TurnsFollower, waitForRoom } from "./turn-scripts.js";
import { UpdateFollower } from "./update-follower.js";
import { UpdateRecorder } from "./update-recorder.js";
import type { RehearsedUpdate } from "./update-script.js";

/** Predicts an update before it runs, as a whole or in turns. Returns undefined if that is not possible. @internal */
export interface UpdateRehearsal {
  update(call: UpdateCall, meter?: MemoryMeter): RehearsedUpdate | undefined;
  turns(call: UpdateCall, turns: UpdateTurns): TurnScripts | undefined;
}

/**
 * How many kinds of updates are remembered per optimizer: the first, which creates slots, later ones, and ones with
 * other gradients.
 */
const kindsKept = 4;

/** Only the innermost mode that frees early acts on an update. */
let isReleasing = false;

/**
 * Runs updates of the optimizers of TensorFlow.js, and frees each temporary after its last reader, and gradients that
 * nothing reads afterwards. The kernels and their order stay the same. A rehearsal before the first update of a kind
 * shows when to free. Without a rehearsal that first update is recorded, and frees no more than unmodified
 * TensorFlow.js.
 *
 * @internal
 */
export class UpdateReleaser {
  private readonly rehearsal: UpdateRehearsal | undefined;
  private readonly meter: MemoryMeter | undefined;
  private readonly known = new WeakMap<object, Map<string, RehearsedUpdate | undefined>>();
  /** @param meter counts passes that update weights in the backward pass */
  constructor(rehearsal: UpdateRehearsal | undefined, meter?: MemoryMeter) {
    this.rehearsal = rehearsal;
    this.meter = meter;
  }

  private readonly turnsOf = new WeakMap<
    object,
    { readonly kind: string; readonly scripts: TurnScripts | undefined }
  >();

  /** Returns the prediction for an update. Undefined if unknown, or if the optimizer is not one of TensorFlow.js. */
  expect(call: UpdateCall, meter?: MemoryMeter): RehearsedUpdate | undefined {
    if (!call.isTfjs) return undefined;
    const key = kindOf(call);
    const known = this.known.get(call.optimizer);
    if (this.rehearsal === undefined || known?.has(key) === true) return known?.get(key);
    const rehearsed = this.rehearsal.update(call, meter);
    this.know(call, key, rehearsed);
    return rehearsed;
  }

  private know({ optimizer }: UpdateCall, kind: string, update: RehearsedUpdate | undefined): void {
    let kinds = this.known.get(optimizer);
    if (kinds === undefined) this.known.set(optimizer, (kinds = new Map()));
    if (kinds.size === kindsKept) kinds.clear();
    kinds.set(kind, update);
  }

  /** Forgets the prediction for such an update. */
  forget(call: UpdateCall): void {
    this.known.get(call.optimizer)?.delete(kindOf(call));
  }

  run(call: UpdateCall, next: () => void): void {
    if (call.turns !== undefined) {
      this.runInTurns(call, call.turns, next);
      return;
    }
    const expected = isReleasing ? undefined : this.expect(call);
    if (expected === undefined) {
      if (this.rehearsal === undefined && call.isTfjs && !isReleasing) this.record(call, next);
      else next();
      return;
    }
    const gradients = gradientsIn(call);
    const free = (place: number) => gradients[place]?.dispose();
    const follower = new UpdateFollower(expected.script, call.ownsGradients ? free : () => {});
    isReleasing = true;
    try {
      withDispatchModeSync(follower, next);
    } finally {
      isReleasing = false;
    }
    if (!follower.isAsRehearsed) this.forget(call);
  }

  private record(call: UpdateCall, next: () => void): void {
    const recorder = new UpdateRecorder(gradientsIn(call));
    const kind = kindOf(call);
    isReleasing = true;
    try {
      withDispatchModeSync(recorder, next);
    } finally {
      isReleasing = false;
    }
    this.know(call, kind, { script: recorder.script(), mostBytes: Number.POSITIVE_INFINITY });
  }

  /** Handles only tensors of the turns. Tensors of the backward pass between them are freed elsewhere. */
  private runInTurns(call: UpdateCall, turns: UpdateTurns, next: () => void): void {
    const kind = `${turns.variables.map((variable) => variable?.size ?? "").join(" ")}${switchesOf(call.optimizer)}`;
    let known = this.turnsOf.get(call.optimizer);
    if (known?.kind !== kind)
      this.turnsOf.set(call.optimizer, (known = { kind, scripts: this.rehearsal?.turns(call, turns) }));
    if (known.scripts !== undefined && this.meter !== undefined)
      turns.waits = waitForRoom(known.scripts, turns, this.meter);
    if (known.scripts === undefined) next();
    else withDispatchModeSync(new TurnsFollower(known.scripts, turns), next);
  }
}

/** The ops of an update depend on its gradients, the existing slots and the optimizer's switches. */
function kindOf({ optimizer, gradients, ownsGradients }: UpdateCall): string {
  let kind = `${ownsGradients ? "own" : ""}${switchesOf(optimizer)}`;
  if (Array.isArray(gradients)) {
    for (const { name, tensor } of gradients as readonly { name: string; tensor?: { size: number } }[])
      kind += `\n${name} ${tensor?.size ?? "missing"}`;
    return kind;
  }
  const named = gradients as Readonly<Record<string, { readonly size: number } | undefined>>;
  for (const name of Object.keys(named)) kind += `\n${name} ${named[name]?.size ?? "missing"}`;
  return kind;
}

/** Lists the existing slots and the switches that are on. */
function switchesOf(optimizer: object): string {
  let switches = "";
  for (const value of Object.values(optimizer))
    if (Array.isArray(value)) switches += ` ${value.length}`;
    else if (typeof value === "boolean") switches += value ? " on" : " off";
  return switches;
}
