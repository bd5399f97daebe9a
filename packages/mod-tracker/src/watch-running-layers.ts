import { PatchSet } from "@remat/dispatch-hook";
import { layers } from "@tensorflow/tfjs-layers";
import { tensorsOf } from "./layer-internals.js";

/** The patched part of a layer. */
interface Applied {
  readonly name: string;
  apply(...given: unknown[]): unknown;
}

/** The layer that is running. */
export interface RunningLayers {
  /** Names of the running layers, outermost first, joined by dots. Undefined if none is running. */
  readonly path: string | undefined;
  /** Ends watching and restores the layer class. */
  close(): void;
}

/**
 * Watches which layer of tfjs-layers runs forward, if you need only its name.
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
      // Building a graph from symbolic tensors runs nothing.
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
