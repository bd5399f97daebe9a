// A process that trains a model in one way, and takes a step whenever it is asked to.
import { defineModel, tfNamespace, trainingStep } from "@remat/tracer/step";
import { loadBackend } from "../../../apps/cli/dist/run/load-backend.js";
import { trainingOf } from "../../../apps/cli/dist/run/training.js";
import { timeOnce } from "../src/measure.js";

let training;

process.on("message", (message) => {
  void answerTo(message).then((answer) => process.send(answer));
});

async function answerTo({ job, question }) {
  try {
    training ??= await prepare(job);
    return { answer: question === "step" ? await takeStep(training) : await training.about(question) };
  } catch (error) {
    return { error: error.stack };
  }
}

async function prepare({ source, backend, way }) {
  await loadBackend(backend);
  const { build, options } = await trainingOf(source);
  globalThis.gc?.();
  const loadedBytes = process.memoryUsage.rss();
  const context = { tf: tfNamespace(), size: source.size, batch: source.batch, scope: (_name, run) => run() };
  const definition = await defineModel(build, context, source.name);
  const step = trainingStep(definition, options);
  // Stock's process never loads the hook.
  const { around = (run) => run(), ...answers } =
    way.kind === "stock" ? {} : await (await import("./ways.js")).prepareWay(way, source, backend, definition);
  return {
    take: () => around(() => step({ loss: (value) => void value.dataSync() })),
    about: (question) =>
      question === "resident" ? process.resourceUsage().maxRSS * 1024 - loadedBytes : answers[question]?.(),
  };
}

/** Between two steps JavaScript's engine may collect what it wants to, as between the batches of `fit`. */
async function takeStep(training) {
  const { wallMs, cpuMs } = await timeOnce(training.take);
  // The arrays in which the initial weights came are garbage after the first step, as large as the weights.
  if (!training.hasSteps) globalThis.gc?.();
  training.hasSteps = true;
  await new Promise((resolve) => setImmediate(resolve));
  return { wallMs, cpuMs };
}
