// Steps of stock and steps with the hook installed and no plan, in turns, so that other work on the machine slows both alike.
import { openDispatchMode } from "@remat/dispatch-hook";
import { defineModel, tfNamespace, trainingStep } from "@remat/tracer/step";
import { loadBackend } from "../../../apps/cli/dist/run/load-backend.js";
import { serveJob } from "../../../apps/cli/dist/run/serve-job.js";
import { trainingOf } from "../../../apps/cli/dist/run/training.js";
import { timeOnce } from "../src/measure.js";

serveJob(async ({ source, backend, rounds }, tell) => {
  await loadBackend(backend);
  const { build, options } = await trainingOf(source);
  const context = { tf: tfNamespace(), size: source.size, batch: source.batch, scope: (_name, run) => run() };
  const step = trainingStep(await defineModel(build, context, source.name), options);
  const read = { loss: (value) => value.dataSync() };
  const stock = () => timeOnce(() => step(read));
  const hooked = () =>
    timeOnce(() => {
      const close = openDispatchMode({});
      try {
        step(read);
      } finally {
        close();
      }
    });
  await stock();
  await hooked();
  const pairs = [];
  for (let round = 0; round < rounds; round++) {
    tell(`hook: round ${round + 1} of ${rounds}`);
    // Which one goes first alternates, too.
    const first = round % 2 === 0 ? await stock() : await hooked();
    const second = round % 2 === 0 ? await hooked() : await stock();
    const [a, b] = round % 2 === 0 ? [first, second] : [second, first];
    pairs.push({ wall: b.wallMs / a.wallMs, cpu: b.cpuMs / a.cpuMs });
  }
  return pairs;
});
