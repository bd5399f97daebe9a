import {
  currentBackend,
  type DispatchMode,
  type OpDone,
  type UpdateCall,
  type UpdateTurns,
  withModeAlone,
} from "@remat/dispatch-hook";
import { listInTurns } from "@remat/dispatch-hook/release";
import { fakeMode } from "@remat/fake";
import { Phase } from "@remat/trace";
import { type Optimizer, type Tensor, tidy, type Variable, zeros } from "@tensorflow/tfjs-core";
import { copyOfOptimizer } from "./copy-of-optimizer.js";
import { UpdateFollower } from "./update-follower.js";
import { UpdateRecorder } from "./update-recorder.js";
import type { UpdateScript } from "./update-script.js";

/** By place of a weight, what its turn in an update can free when; undefined for one that has no gradient. @internal */
export type TurnScripts = readonly (UpdateScript | undefined)[];

/**
 * Tells what each turn of an update will do before it runs, by two rehearsals as `rehearseUpdate` does: a turn does the same in whatever order they come, since what weights
 * share is made before them, and changed after. Undefined where it cannot be told.
 *
 * @internal
 */
export function rehearseTurns(call: UpdateCall, { variables }: UpdateTurns): TurnScripts | undefined {
  try {
    const recorders = new Map<number, UpdateRecorder>();
    rehearseInTurns(call, variables, (place, gradient) => {
      const recorder = new UpdateRecorder([gradient]);
      recorders.set(place, recorder);
      return recorder;
    });
    const scripts = variables.map((_, place) => recorders.get(place)?.script());
    const followers: UpdateFollower[] = [];
    rehearseInTurns(call, variables, (place, gradient) => {
      const follower = new UpdateFollower(scripts[place] as UpdateScript, () => gradient.dispose());
      followers.push(follower);
      return follower;
    });
    return followers.every(({ isAsRehearsed }) => isAsRehearsed) ? scripts : undefined;
  } catch {
    // What stock refuses it shall refuse itself, and where fake mode lacks a kernel the update holds what it holds in stock.
    return undefined;
  }
}

/** Runs an update by a copy of the optimizer in fake mode, each turn watched by a mode of its own. */
function rehearseInTurns(
  { optimizer, method }: UpdateCall,
  variables: readonly (Variable | undefined)[],
  watch: (place: number, gradient: Tensor) => DispatchMode,
): void {
  const copy = copyOfOptimizer(optimizer as Optimizer);
  const watched: { by: DispatchMode | undefined } = { by: undefined };
  const delegate: DispatchMode = {
    opOver: (op) => watched.by?.opOver?.(op),
    variableAssigned: (variable, made) => watched.by?.variableAssigned?.(variable, made),
    tensorRead: (dataId) => watched.by?.tensorRead?.(dataId),
  };
  withModeAlone(delegate, () =>
    fakeMode(
      () =>
        tidy(() => {
          const gradients = variables.map((variable) => variable && zeros(variable.shape));
          let now = -1;
          const list = listInTurns(
            variables.map((variable) => variable?.name ?? ""),
            (place) => (place === now ? gradients[place] : undefined),
            (update) => {
              for (const [place, gradient] of gradients.entries()) {
                if (gradient === undefined) continue;
                now = place;
                watched.by = watch(place, gradient);
                update(place);
                watched.by = undefined;
              }
            },
          );
          method.call(copy, list);
        }),
      { backend: currentBackend() },
    ),
  );
}

/** Frees in the turns of an update what their scripts say; the backward pass in between goes by. @internal */
export class TurnsFollower implements DispatchMode {
  private place: number | undefined;
  private follower: UpdateFollower | undefined;

  constructor(
    private readonly scripts: TurnScripts,
    private readonly turns: UpdateTurns,
  ) {}

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
