import { releaseEarly, withMemoryBudget } from "@remat/checkpoint";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-webgl";
import "@tensorflow/tfjs-backend-webgpu";
import { record } from "remat";

/** Result of training on camera pictures, a different one each time. */
export interface PicturesTraining {
  readonly losses: readonly number[];
  readonly recomputedOps: number;
}

const side = 16;
const weightsOf = (seed: number, ...shape: number[]): tf.Variable =>
  tf.variable(tf.randomNormal(shape, 0, 0.3, "float32", seed));

/** Stands for a camera. Its current picture is read on access. */
class Camera {
  readonly canvas = new OffscreenCanvas(side, side);
  private readonly context = this.canvas.getContext("2d")!;
  private shown = 0;

  /** Shows the next picture. */
  turn(): void {
    this.shown++;
    for (let i = 0; i < side; i++) {
      this.context.fillStyle = `rgb(${(i * 37 + this.shown * 91) % 256},${(i * 11) % 256},${(this.shown * 57) % 256})`;
      this.context.fillRect(i, 0, 1, side);
    }
  }
}

/** A step that reads the camera in its forward pass. The picture changes before the backward pass. */
function steps() {
  const camera = new Camera();
  const weights = [weightsOf(1, 3, 3, 3, 8), weightsOf(2, 3, 3, 8, 8), weightsOf(3, 3, 3, 8, 4)];
  const optimizer = tf.train.adam(0.01);
  const take = (): tf.Scalar =>
    optimizer.minimize(
      () => {
        camera.turn();
        const picture = tf.div(tf.cast(tf.browser.fromPixels(camera.canvas as never), "float32"), 255);
        camera.turn();
        let x = tf.expandDims<tf.Tensor4D>(picture);
        for (const weight of weights) x = tf.relu(tf.conv2d(tf.sin(x), weight as unknown as tf.Tensor4D, 1, "same"));
        return tf.mean(tf.square(tf.sub(x, 1))) as tf.Scalar;
      },
      true,
      weights,
    )!;
  const end = (): void => {
    optimizer.dispose();
    tf.dispose(weights);
  };
  return { take, end };
}

/** Trains on pictures, within a budget if one is given. */
export async function trainOnPictures(
  backend: string,
  way: "stock" | "early release" | number,
): Promise<PicturesTraining> {
  await tf.setBackend(backend);
  await tf.ready();
  const { take, end } = steps();
  const losses: number[] = [];
  let recomputedOps = 0;
  const step = async (): Promise<void> => {
    const loss = take();
    losses.push((await loss.data())[0]);
    loss.dispose();
  };
  const count = 4;
  const stop = way === "early release" ? releaseEarly() : () => {};
  if (typeof way === "string") for (let i = 0; i < count; i++) await step();
  else
    await withMemoryBudget(
      `${way}%`,
      async (execution) => {
        for (let i = 0; i < count; i++) {
          await step();
          recomputedOps += execution.lastStep?.recomputedOps ?? 0;
        }
      },
      { online: true },
    );
  stop();
  end();
  return { losses, recomputedOps };
}

/** Records such a step: the ops that read a picture, and those that have it as an input. */
export async function recordPictures(backend: string): Promise<readonly [taking: number, inputs: number]> {
  await tf.setBackend(backend);
  await tf.ready();
  const { take, end } = steps();
  const trace = await record(() => take().dispose());
  end();
  const taking = Array.from({ length: trace.ops.count }, (_, op) => op).filter(
    (op) => trace.opName(op) === "FromPixels",
  );
  return [taking.length, taking.reduce((sum, op) => sum + trace.opInputs(op).length, 0)];
}
