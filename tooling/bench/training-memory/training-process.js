// A process that trains by one of the usual methods, unmodified, counted or within a budget, and runs a round on
// request.
import { createHash } from "node:crypto";
import { startBackend } from "@remat/dispatch-hook/backends/node";
import { timeOnce } from "../src/measure.js";
import { answerQuestions } from "./answer-questions.js";
import { trainings } from "./trainings.js";

let running;

answerQuestions(async (job, question) => {
  running ??= await start(job);
  const { round, variables, execution, meter } = running;
  if (question === "step") return timeOnce(round);
  if (question === "digest") {
    const hash = createHash("sha256");
    for (const variable of variables) hash.update(new Uint8Array((await variable.data()).buffer));
    return hash.digest("hex");
  }
  if (question === "peak") return meter.peakBytes;
  const { kind } = await execution.planned;
  return { kind, budgetBytes: execution.budgetBytes, peakBytes: execution.peakBytes };
});

async function start({ training, backend, way }) {
  await startBackend(backend, { for: "training" });
  const tf = await import("@tensorflow/tfjs");
  const open = { stock: () => ({}), counted: count, budget: keepBudget }[way.kind];
  const opened = await open(way);
  const { round, variables } = trainings[training](tf);
  return { round, variables, ...opened };
}

async function count() {
  const { MemoryMeter } = await import("@remat/checkpoint");
  const { openDispatchMode } = await import("@remat/dispatch-hook");
  const meter = new MemoryMeter();
  openDispatchMode(meter);
  return { meter };
}

async function keepBudget({ budget }) {
  const { openMemoryBudget } = await import("@remat/checkpoint");
  return { execution: openMemoryBudget(budget).execution };
}
