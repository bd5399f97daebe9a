import { keep, type Tensor } from "@tensorflow/tfjs-core";
import { engineInternals } from "../engine/index.js";
import { classMaps } from "./class-maps.js";
import { override, shared, type Undo, undoAll } from "./override.js";

/** State that a stateful recurrent layer of tfjs-layers keeps between batches, in fields that its types hide. */
interface StatefulLayer {
  states_?: Tensor[] | null;
  keptStates?: Tensor[][];
}

type ResetStates = (this: StatefulLayer, ...args: unknown[]) => unknown;

/** State of layers when each open mode first met them, outermost mode first. */
const guards: Map<StatefulLayer, Required<StatefulLayer>>[] = [];

/**
 * Makes stateful layers run on copies of their states, because each batch disposes of the previous ones. The returned
 * function restores the original states. @internal
 */
export function guardStates(): Undo {
  const guarded: (typeof guards)[number] = new Map();
  guards.push(guarded);
  const stop = watchResets();
  return () => {
    stop();
    guards.splice(guards.indexOf(guarded), 1);
    for (const [layer, before] of guarded)
      if (before.states_ !== null || layer.states_?.some(({ isDisposed }) => isDisposed)) Object.assign(layer, before);
  };
}

const watchResets = shared(() => {
  const undos = [...layersWithStates()].map((prototype) => {
    const { resetStates } = prototype;
    const guardedReset: ResetStates = function (...args) {
      for (const guard of guards) if (!guard.has(this)) copyStates(this, guard);
      return resetStates.apply(this, args);
    };
    return override(prototype, "resetStates", guardedReset);
  });
  return () => undoAll(undos);
});

function copyStates(layer: StatefulLayer, guard: (typeof guards)[number]): void {
  const { states_ = null, keptStates } = layer;
  if (keptStates === undefined) return;
  guard.set(layer, { states_, keptStates });
  layer.states_ = states_?.map(onSameData) ?? null;
  layer.keptStates = [];
}

/** Copies a tensor without running an op, because an op would appear in the trace. */
function onSameData(state: Tensor): Tensor {
  const engine = engineInternals();
  const backend = engine.state.tensorInfo.get(state.dataId)?.backend;
  backend?.incRef?.(state.dataId);
  return keep(engine.makeTensorFromTensorInfo(state, backend));
}

/** Returns the prototypes with their own `resetStates`. Empty if tfjs-layers is not loaded. */
function layersWithStates(): Set<{ resetStates: ResetStates }> {
  const found = new Set<{ resetStates: ResetStates }>();
  for (const classes of classMaps())
    for (const name of ["LSTM", "ConvLSTM2D"])
      for (let at: object | null = classes.get(name)?.prototype ?? null; at !== null; at = Object.getPrototypeOf(at))
        if (Object.hasOwn(at, "resetStates")) found.add(at as { resetStates: ResetStates });
  return found;
}
