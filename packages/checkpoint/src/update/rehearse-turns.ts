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
 * Predicts each turn of an update by two rehearsals, as `rehearseUpdate` does. The order of turns does not matter,
 * because data shared by weights is made before the turns and changed after them. Returns undefined if prediction is
 * not possible.
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
    // The real update reports errors itself. If fake mode lacks a kernel, the update runs as in unmodified
    // TensorFlow.js.
    return undefined;
  }
}

/** Follows a turn, and counts the memory of its tensors. */
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

/** Runs an update in fake mode on a copy of the optimizer, with a separate mode for each turn. */
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
