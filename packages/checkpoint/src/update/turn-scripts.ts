import type { DispatchObserver, OpDone, UpdateTurns } from "@remat/dispatch-hook";
import { Phase } from "@remat/trace";
import type { MemoryMeter } from "../memory-meter.js";
import { UpdateFollower } from "./update-follower.js";
import type { UpdateScript } from "./update-script.js";

/** The predicted turn of one weight. @internal */
export interface TurnScript extends UpdateScript {
  /** Peak of the turn in bytes beyond existing data, if the script is followed. */
  readonly mostBytes: number;
}

/** Scripts by index of the weight. Undefined for a weight without a gradient. @internal */
export type TurnScripts = readonly (TurnScript | undefined)[];

/**
 * Decides which weight waits for its turn. A weight waits if its temporaries would exceed the peak of the pass so far,
 * and if they are larger than the waiting gradients. The backward pass soon frees memory, and waiting gradients never
 * exceed those temporaries.
 *
 * @internal
 */
export function waitForRoom(
  scripts: TurnScripts,
  { variables }: UpdateTurns,
  meter: MemoryMeter,
): NonNullable<UpdateTurns["waits"]> {
  return (place, waiting) => {
    const mostBytes = scripts[place]?.mostBytes ?? 0;
    if (meter.liveBytes + mostBytes <= meter.peakBytes) return false;
    let waitingBytes = 0;
    for (const other of waiting) waitingBytes += (variables[other]?.size ?? 0) * bytesPerElement;
    return waitingBytes <= mostBytes;
  };
}

/** Gradients are float32. */
const bytesPerElement = 4;

/**
 * Frees tensors in the turns of an update according to their scripts, and ignores the backward pass between them.
 * @internal
 */
export class TurnsFollower implements DispatchObserver {
  readonly looksInPassing = true;
  private place: number | undefined;
  private follower: UpdateFollower | undefined;

  private readonly scripts: TurnScripts;
  private readonly turns: UpdateTurns;

  constructor(scripts: TurnScripts, turns: UpdateTurns) {
    this.scripts = scripts;
    this.turns = turns;
  }

  opOver(op: OpDone): void {
    const { place } = this.turns;
    if (place === undefined || op.phase !== Phase.optimizer) return;
    if (place !== this.place) {
      this.place = place;
      const script = this.scripts[place];
      this.follower = script && new UpdateFollower(script, () => this.turns.freeGradient());
    }
    this.follower?.opOver(op);
  }
}
