import {
  type DispatchObserver,
  type OpDone,
  type Storage,
  type UpdateCall,
  type UpdateTurns,
  withModeAlone,
} from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { listInTurns } from "@remat/dispatch-hook/release";
import { type Optimizer, type Tensor, tidy, type Variable, zeros } from "@tensorflow/tfjs-core";
import { KeptMemory } from "../kept-memory.js";
import { MemoryMeter } from "../memory-meter.js";
import { copyOfOptimizer } from "./copy-of-optimizer.js";
import { rehearsalBackend } from "./rehearsal-backend.js";
import type { TurnScripts } from "./turn-scripts.js";
import { UpdateFollower } from "./update-follower.js";
import { UpdateRecorder } from "./update-recorder.js";
import type { UpdateScript } from "./update-script.js";

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
    const counted: CountedTurn[] = [];
    rehearseInTurns(call, variables, (place, gradient) => {
      counted[place] = new CountedTurn(scripts[place] as UpdateScript, gradient);
      return counted[place];
    });
    if (!counted.every((turn) => turn.follower.isAsRehearsed)) return undefined;
    return scripts.map((script, place) => script && { ...script, mostBytes: counted[place].meter.peakBytes });
  } catch {
    // What stock refuses it shall refuse itself, and where fake mode lacks a kernel the update holds what it holds in stock.
    return undefined;
  }
}

/** A turn that is followed, and what it makes. */
class CountedTurn implements DispatchObserver {
  readonly meter: MemoryMeter = new MemoryMeter();
  readonly follower: UpdateFollower;

  constructor(script: UpdateScript, gradient: Tensor) {
    this.follower = new UpdateFollower(script, () => gradient.dispose());
  }

  opStarting(): void {
    KeptMemory.here()?.settle();
  }

  opOver(op: OpDone): void {
    this.follower.opOver(op);
  }

  storageAllocated(storage: Storage): void {
    this.meter.storageAllocated(storage);
  }

  storageReleased(storage: Storage): void {
    this.meter.storageReleased(storage);
  }
}

/** Runs an update by a copy of the optimizer in fake mode, each turn watched by a mode of its own. */
function rehearseInTurns(
  { optimizer, method }: UpdateCall,
  variables: readonly (Variable | undefined)[],
  watch: (place: number, gradient: Tensor) => DispatchObserver,
): void {
  const copy = copyOfOptimizer(optimizer as Optimizer);
  const watched: { by: DispatchObserver | undefined } = { by: undefined };
  const delegate: DispatchObserver = {
    opStarting: (op) => watched.by?.opStarting?.(op),
    opOver: (op) => watched.by?.opOver?.(op),
    variableAssigned: (variable, made) => watched.by?.variableAssigned?.(variable, made),
    tensorRead: (dataId) => watched.by?.tensorRead?.(dataId),
    storageAllocated: (storage, origin) => watched.by?.storageAllocated?.(storage, origin),
    storageReleased: (storage) => watched.by?.storageReleased?.(storage),
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
      { backend: rehearsalBackend() },
    ),
  );
}
