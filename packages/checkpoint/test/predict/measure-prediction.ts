import { withDispatchMode } from "@remat/dispatch-hook";
import { defineModel, SeededRandom, tfNamespace } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { MemoryMeter } from "../../src/memory-meter.js";

/** Returns what is held at most while the program itself calls the model, counted buffer by buffer. */
export async function measurePrediction(exported: unknown, batch: number): Promise<number> {
  const random = new SeededRandom(0);
  const context = { tf: tfNamespace(), size: "tiny", batch, scope: <T>(_: string, fn: () => T) => fn() } as const;
  const { model, forward, inputs, parameters, buffers } = await random.run(() => defineModel(exported, context, "m"));
  const xs = inputs as tf.Tensor;
  // Layers may make constants when they are first called.
  const use = (): void =>
    tf.dispose(
      model === undefined
        ? tf.tidy(() => (forward as unknown as (x: tf.Tensor, o: object) => tf.Tensor)(xs, { training: false }))
        : model.predict(xs, { batchSize: [inputs].flat()[0].shape[0] }),
    );
  const meter = new MemoryMeter();
  withDispatchMode(meter, () => {
    meter.count([inputs].flat() as tf.Tensor[]);
    const own = [parameters ?? {}, buffers ?? {}].flatMap((record) =>
      Object.values(record as Record<string, tf.Tensor>),
    );
    meter.count([...own, ...(model?.weights ?? []).map((weight) => (weight as unknown as { val: tf.Tensor }).val)]);
    use();
  });
  return meter.peakBytes;
}
