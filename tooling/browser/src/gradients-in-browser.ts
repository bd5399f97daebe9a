import { withDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import "@tensorflow/tfjs-backend-webgl";

setWasmPaths("/");

/** Returns the kernels of the gradients that remat replaces, with either remat's or tfjs's own, on a backend. */
export async function kernelsOfGradients(
  backend: string,
  fasterGradients: "equal" | "none",
): Promise<readonly string[]> {
  await tf.setBackend(backend);
  await tf.ready();
  const kernels: string[] = [];
  withDispatchMode(
    {
      fasterGradients,
      releasesEarly: true,
      opDone: ({ kernel, differentiates }) => void (differentiates && kernels.push(kernel)),
    },
    () =>
      tf.tidy(() => {
        const ones = tf.ones([4]) as tf.Tensor1D;
        const f = (x: tf.Tensor) => {
          const normalized = tf.batchNorm(x as tf.Tensor4D, ones, ones, ones, ones);
          return tf.mul(tf.tile(tf.mean(normalized, -1, true), [1, 1, 1, 2]), tf.sum(normalized));
        };
        tf.grad(f)(tf.ones([2, 3, 3, 4]));
      }),
  );
  return kernels;
}

/** Returns whether the source text of tfjs functions differs from that in its packages. */
export const isMinified = (): boolean => !/\battrs\b/.test(String(tf.getGradient("Tile").gradFunc));
