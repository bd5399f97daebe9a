import { type UpdateCall, type UpdateTurns, withDispatchMode } from "@remat/dispatch-hook";
import type { MemoryMeter } from "../memory-meter.js";
import { gradientsIn, type RehearsedUpdate, rehearseUpdate } from "./rehearse-update.js";
import { rehearseTurns, type TurnScripts, TurnsFollower, waitForRoom } from "./turn-scripts.js";
import { UpdateFollower } from "./update-follower.js";

/** So many kinds of updates by one optimizer are known at once: its first, which makes slots, later ones, some with other gradients. */
const kindsKept = 4;

/** The innermost mode that frees early does so in an update, for all. */
let isReleasing = false;

/**
 * Runs updates of the weights by tfjs's own optimizers so that each of their temporaries goes after its last reader, as do gradients that nobody reads
 * afterwards: the same kernels in the same order. What goes when is known from a rehearsal before the first update of a kind.
 *
 * @internal
 */
export class UpdateReleaser {
  private readonly known = new WeakMap<object, Map<string, RehearsedUpdate | undefined>>();
  /** @param meter of passes in which weights are updated: what they have held so far */
  constructor(private readonly meter?: MemoryMeter) {}

  private readonly turnsOf = new WeakMap<
    object,
    { readonly kind: string; readonly scripts: TurnScripts | undefined }
  >();

  /** What an update will do; undefined where that is not known: of one that is none of tfjs's own. */
  expect(call: UpdateCall, meter?: MemoryMeter): RehearsedUpdate | undefined {
    if (!call.isTfjs) return undefined;
    const key = kindOf(call);
    let kinds = this.known.get(call.optimizer);
    if (kinds === undefined) this.known.set(call.optimizer, (kinds = new Map()));
    if (!kinds.has(key)) {
      if (kinds.size === kindsKept) kinds.clear();
      kinds.set(key, rehearseUpdate(call, meter));
    }
    return kinds.get(key);
  }

  /** Forgets what is known of such an update. */
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
      next();
      return;
    }
    const gradients = gradientsIn(call);
    const free = (place: number) => gradients[place]?.dispose();
    const follower = new UpdateFollower(expected.script, call.ownsGradients ? free : () => {});
    isReleasing = true;
    try {
      withDispatchMode(follower, next);
    } finally {
      isReleasing = false;
    }
    if (!follower.isAsRehearsed) this.forget(call);
  }

  /** Only what a turn makes: what comes of the backward pass meanwhile is that's to free. */
  private runInTurns(call: UpdateCall, turns: UpdateTurns, next: () => void): void {
    const kind = `${turns.variables.map((variable) => variable?.size ?? "").join(" ")}${switchesOf(call.optimizer)}`;
    let known = this.turnsOf.get(call.optimizer);
    if (known?.kind !== kind) this.turnsOf.set(call.optimizer, (known = { kind, scripts: rehearseTurns(call, turns) }));
    if (known.scripts !== undefined && this.meter !== undefined)
      turns.waits = waitForRoom(known.scripts, turns, this.meter);
    if (known.scripts === undefined) next();
    else withDispatchMode(new TurnsFollower(known.scripts, turns), next);
  }
}

/** What its ops follow from: the gradients that are there, the slots that are there, and the optimizer's switches. */
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

/** Which slots are there, and which of its switches are on. */
function switchesOf(optimizer: object): string {
  let switches = "";
  for (const value of Object.values(optimizer))
    if (Array.isArray(value)) switches += ` ${value.length}`;
    else if (typeof value === "boolean") switches += value ? " on" : " off";
  return switches;
}
