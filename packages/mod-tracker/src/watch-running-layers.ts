import { PatchSet } from "@remat/dispatch-hook";
import { layers } from "@tensorflow/tfjs-layers";
import { tensorsOf } from "./layer-internals.js";

/** As much of a layer as is patched. */
interface Applied {
  readonly name: string;
  apply(...given: unknown[]): unknown;
}

/** Which layer runs. */
export interface RunningLayers {
  /** Names of the layers that run, one inside the other, joined by dots; undefined where none does. */
  readonly path: string | undefined;
  close(): void;
}

/**
 * Knows which layer of tfjs-layers runs forward, for what needs no more of modules than their name.
 *
 * @example
 * const running = watchRunningLayers();
 * model.predict(x); // in it, running.path is "dense_Dense1"
 * running.close();
 */
export function watchRunningLayers(): RunningLayers {
  const patches = new PatchSet();
  let path: string | undefined;
  patches.patch(layers.Layer.prototype as unknown as Applied, "apply", (original) => {
    return function (this: Applied, ...given: unknown[]): unknown {
      // A graph is built of symbolic ones: nothing runs.
      if (tensorsOf(given[0]) === undefined) return original.apply(this, given);
      const around = path;
      path = around === undefined ? this.name : `${around}.${this.name}`;
      try {
        return original.apply(this, given);
      } finally {
        path = around;
      }
    };
  });
  return {
    get path() {
      return path;
    },
    close: () => patches.restore(),
  };
}
