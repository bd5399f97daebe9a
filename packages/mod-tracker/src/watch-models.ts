import { PatchSet } from "@remat/dispatch-hook";
import { RematError } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import { LayersModel, layers, Sequential } from "@tensorflow/tfjs-layers";
import { type Layer, tensorsOf } from "./layer-internals.js";
import type { ModTracker } from "./mod-tracker.js";

/** What tfjs-layers gives every layer, model and Sequential: as much of it as is patched. */
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

/** The models of a program, as it runs them. */
export interface ModelWatch {
  /**
   * Runs `body`, which is synchronous, with every model and layer that runs in it tracked by `tracker` from its first call on, as if `track` had been
   * called; so is a model whose training function `body` is a part of.
   */
  follow<T>(tracker: ModTracker, body: () => T): T;
  /** Restores the classes of tfjs-layers. A second call does nothing. */
  close(): void;
}

/**
 * Watches the classes of tfjs-layers, so that a tracker can follow the models and layers of a program that tells it of none. Those of a Sequential that was
 * built before are told by the name of the model inside it.
 *
 * @example
 * const watch = watchModels();
 * await model.fit(x, y, { epochs: 1 });
 * tracker.run(() => watch.follow(tracker, () => optimizer.minimize(() => loss(model.predict(x)))));
 * watch.close();
 */
export function watchModels(): ModelWatch {
  const patches = new PatchSet();
  /** What a Sequential hands everything to, by which it is told apart from a model of the user's. */
  const outerOf = new WeakMap<object, Layer>();
  let isOpen = true;
  let tracker: ModTracker | undefined;
  let training: { readonly model: Layer; readonly inputs: readonly Tensor[] } | undefined;

  const outermost = (model: object): Layer => outerOf.get(model) ?? (model as Layer);
  /** Whether it is tracked since now. */
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
      // A graph is built of symbolic ones: nothing runs.
      if (tracker !== undefined && tensorsOf(inputs) !== undefined) coming(this as unknown as Layer);
      return original.call(this, inputs, kwargs);
    };
  });
  const model = LayersModel.prototype as unknown as ModelClass;
  patches.patch(model, "predictLoop", (original) => {
    return function (this: ModelClass, ...given) {
      // The tracker has just given it one of its own.
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
        return followed.awaitRun(training.model, training.inputs, body);
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

/** What is wrong with a model that has no graph, tfjs says when it runs. */
function isTracked(tracker: ModTracker, part: Layer, name: string): boolean {
  try {
    tracker.track(part, { name });
    return true;
  } catch (error) {
    if (error instanceof RematError && error.code === "MODEL_NOT_BUILT") return false;
    throw error;
  }
}
