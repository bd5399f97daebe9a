// A process that takes training steps one by one, when asked: of stock, or with the hook installed for good and no plan.
import { defineModel, tfNamespace, trainingStep } from "@remat/tracer/step";
import { loadBackend } from "../../../apps/cli/dist/run/load-backend.js";
import { trainingOf } from "../../../apps/cli/dist/run/training.js";
import { timeOnce } from "../src/measure.js";

const warmUpSteps = 3;
let takeStep;

process.on("message", async (request) => {
  try {
    takeStep ??= await prepare(request);
    const { wallMs, cpuMs } = await timeOnce(takeStep);
    process.send({ wallMs, cpuMs });
  } catch (error) {
    process.send({ error: error.stack });
  }
});

async function prepare({ source, backend, isHooked }) {
  await loadBackend(backend);
  const { build, options } = await trainingOf(source);
  const context = { tf: tfNamespace(), size: source.size, batch: source.batch, scope: (_name, run) => run() };
  const step = trainingStep(await defineModel(build, context, source.name), options);
  const read = { loss: (value) => value.dataSync() };
  if (isHooked) {
    const { openDispatchMode } = await import("@remat/dispatch-hook");
    openDispatchMode({});
  }
  for (let i = 0; i < warmUpSteps; i++) {
    step(read);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return () => step(read);
}
