import { PatchSet } from "@remat/dispatch-hook";
import { RematError } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import { LayersModel, layers, Sequential } from "@tensorflow/tfjs-layers";
import { type Layer, tensorsOf } from "./layer-internals.js";
import type { ModTracker } from "./mod-tracker.js";

/** The patched part of layers, models and Sequentials of tfjs-layers. */
interface LayerClass {
  apply(inputs: unknown, kwargs?: unknown): unknown;
}
interface ModelClass {
  readonly inputs: readonly unknown[];
  makeTrainFunction(): (data: Tensor[]) => unknown;
  predictLoop(...given: unknown[]): unknown;
}
interface SequentialClass {
  readonly model?: Layer | null;
  build(...given: unknown[]): unknown;
}

/** Tracks the models of a program while it runs them. */
export interface ModelWatch {
  /**
   * Runs `body`, which must be synchronous. `tracker` tracks every model and layer that runs in it from its first call
   * on, as if `track` had been called. It also tracks a model whose training function calls `body`.
   */
  follow<T>(tracker: ModTracker, body: () => T): T;
  /** Restores the classes of tfjs-layers. A second call does nothing. */
  close(): void;
}

/**
 * Patches the classes of tfjs-layers, so that a tracker can follow models and layers without a call of `track`. A
 * Sequential built before this call appears under the name of its inner model.
 *
 * @example
 * const watch = watchModels();
 * await model.fit(x, y, { epochs: 1 });
 * tracker.run(() => watch.follow(tracker, () => optimizer.minimize(() => loss(model.predict(x)))));
 * watch.close();
 */
export function watchModels(): ModelWatch {
  const patches = new PatchSet();
  /** Maps the inner model of a Sequential to the Sequential, to distinguish it from your own models. */
  const outerOf = new WeakMap<object, Layer>();
  let isOpen = true;
  let tracker: ModTracker | undefined;
  let training: { readonly model: Layer; readonly inputs: readonly Tensor[] } | undefined;

  const outermost = (model: object): Layer => outerOf.get(model) ?? (model as Layer);
  /** Starts tracking a part. Returns false if it is already tracked. */
  const coming = (part: Layer): boolean => {
    if (tracker === undefined || tracker.getKnownFqn(part) !== undefined) return false;
    const around = tracker.activeModule?.fqn;
    return isTracked(tracker, part, around === undefined ? part.name : `${around}.${part.name}`);
  };

  patches.patch(Sequential.prototype as unknown as SequentialClass, "build", (original) => {
    return function (this: SequentialClass, ...given) {
      const result = original.apply(this, given);
      if (this.model != null) outerOf.set(this.model, this as unknown as Layer);
      return result;
    };
  });
  patches.patch(layers.Layer.prototype as LayerClass, "apply", (original) => {
    return function (this: LayerClass, inputs, kwargs) {
      // Building a graph from symbolic tensors runs nothing.
      if (tracker !== undefined && tensorsOf(inputs) !== undefined) coming(this as unknown as Layer);
      return original.call(this, inputs, kwargs);
    };
  });
  const model = LayersModel.prototype as unknown as ModelClass;
  patches.patch(model, "predictLoop", (original) => {
    return function (this: ModelClass, ...given) {
      // Tracking has just given the model a method of its own.
      return coming(outermost(this)) ? this.predictLoop(...given) : original.apply(this, given);
    };
  });
  patches.patch(model, "makeTrainFunction", (original) => {
    return function (this: ModelClass) {
      const train = original.call(this);
      return (data) => {
        if (!isOpen) return train(data);
        const before = training;
        training = { model: outermost(this), inputs: data.slice(0, this.inputs.length) };
        try {
          return train(data);
        } finally {
          training = before;
        }
      };
    };
  });

  return {
    follow(followed, body) {
      const before = tracker;
      tracker = followed;
      try {
        if (training === undefined) return body();
        coming(training.model);
        return followed.trackRun(training.model, training.inputs, body);
      } finally {
        tracker = before;
      }
    },
    close() {
      isOpen = false;
      patches.restore();
    },
  };
}

/** A model without a graph is not tracked. TensorFlow.js reports the error when it runs. */
function isTracked(tracker: ModTracker, part: Layer, name: string): boolean {
  try {
    tracker.track(part, { name });
    return true;
  } catch (error) {
    if (error instanceof RematError && error.code === "MODEL_NOT_BUILT") return false;
    throw error;
  }
}
