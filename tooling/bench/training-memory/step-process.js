// A process that trains a model under one strategy, and runs a step on request.
import { startBackend } from "@remat/dispatch-hook/backends/node";
import { prepareStep } from "@remat/tracer/step";
import { loadModel } from "../../../apps/cli/dist/load-model.js";
import { timeOnce } from "../src/measure.js";
import { answerQuestions } from "./answer-questions.js";

let training;

answerQuestions(async (job, question) => {
  training ??= await prepare(job);
  return question === "step" ? takeStep(training) : training.about(question);
});

async function prepare({ source, backend, way }) {
  await startBackend(backend, { for: "training" });
  const model = await loadModel(source);
  globalThis.gc?.();
  const loadedBytes = process.memoryUsage.rss();
  const step = await prepareStep(model, { ...source.request, name: source.name });
  // The baseline's process never loads the hook.
  const { around = (run) => run(), ...answers } =
    way.kind === "stock" ? {} : await (await import("./ways.js")).prepareWay(way, source, backend, step.definition);
  return {
    take: () => around(() => step.take({ loss: (value) => void value.dataSync() })),
    about: (question) =>
      question === "resident" ? process.resourceUsage().maxRSS * 1024 - loadedBytes : answers[question]?.(),
  };
}

/** Lets the JavaScript engine collect garbage between two steps, as it can between the batches of `fit`. */
async function takeStep(training) {
  const { wallMs, cpuMs } = await timeOnce(training.take);
  // The arrays of the initial weights are garbage after the first step, as large as the weights.
  if (!training.hasSteps) globalThis.gc?.();
  training.hasSteps = true;
  await new Promise((resolve) => setImmediate(resolve));
  return { wallMs, cpuMs };
}
