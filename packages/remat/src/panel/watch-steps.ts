import { type CloseMode, openDispatchMode, registeredVariables } from "@remat/dispatch-hook";
import { Category, type Trace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import type { Variable } from "@tensorflow/tfjs-core";

/** Longer steps are shown in part, so that a page that never yields does not fill its memory with a record. */
const mostOps = 100_000;

/**
 * Records each training step, from one weight update to the next, and passes its trace to `told` after the step's code
 * has returned. Returns a function that ends it.
 *
 * @internal
 */
export function watchSteps(told: (trace: Trace) => void): CloseMode {
  const slots = new Set<Variable>();
  let recording = record(slots);
  let isWaiting = false;
  let isOpen = true;
  const turn = (): void => {
    isWaiting = false;
    if (!isOpen) return;
    const trace = recording.stop();
    recording = record(slots);
    told(trace);
  };
  const close = openDispatchMode({
    optimizerStepDone(optimizer) {
      for (const slot of slotsOf(optimizer)) slots.add(slot);
      if (isWaiting) return;
      isWaiting = true;
      // Within the step, its modes are in use. If a loop does not yield, the callback runs when the loop ends.
      queueMicrotask(turn);
    },
  });
  return () => {
    if (!isOpen) return;
    isOpen = false;
    close();
    recording.stop();
  };
}

/** State that optimizers of TensorFlow.js keep for each weight: lists of `{ originalName, variable }`. */
function* slotsOf(optimizer: object): Iterable<Variable> {
  for (const list of Object.values(optimizer) as unknown[])
    if (Array.isArray(list))
      for (const slot of list as readonly ({ readonly variable?: Variable } | null)[])
        if (slot?.variable !== undefined) yield slot.variable;
}

function record(slots: ReadonlySet<Variable>): { stop(): Trace } {
  const recorder = new TraceRecorder();
  let ops = 0;
  const close = openDispatchMode(recorder);
  const closeCount = openDispatchMode({
    opOver() {
      if (++ops === mostOps) queueMicrotask(close);
    },
  });
  for (const variable of registeredVariables()) recorder.categorizeTensor(variable, categoryOf(variable, slots));
  return {
    stop() {
      closeCount();
      close();
      return recorder.trace();
    },
  };
}

function categoryOf(variable: Variable, slots: ReadonlySet<Variable>): number {
  if (variable.trainable) return Category.parameter;
  return slots.has(variable) ? Category.optimizerState : Category.buffer;
}
