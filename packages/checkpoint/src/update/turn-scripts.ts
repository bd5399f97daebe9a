import type { DispatchObserver, OpDone, UpdateTurns } from "@remat/dispatch-hook";
import { Phase } from "@remat/trace";
import type { MemoryMeter } from "../memory-meter.js";
import { UpdateFollower } from "./update-follower.js";
import type { UpdateScript } from "./update-script.js";

/** What the turn of a weight will do. @internal */
export interface TurnScript extends UpdateScript {
  /** The most bytes that it holds at once beyond what is there before, when that is followed. */
  readonly mostBytes: number;
}

/** By place of a weight; undefined for one that has no gradient. @internal */
export type TurnScripts = readonly (TurnScript | undefined)[];

/**
 * Tells which weight waits for its turn: one whose temporaries would be more than has been held in the pass so far, as long as they are more than the gradients that
 * wait. What a backward pass frees makes room for them soon, and gradients that wait never come to more than that.
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

/** Of gradients, which are of float32. */
const bytesPerElement = 4;

/** Frees in the turns of an update what their scripts say; the backward pass in between goes by. @internal */
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
