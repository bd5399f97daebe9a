// Child process of predicted-memory.js: runs one step of one example.
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { memoryTimeline } from "@remat/memory";
import { prepareStep, traceFakeStep, traceStep } from "@remat/tracer";
import "@tensorflow/tfjs-backend-wasm";
import * as tf from "@tensorflow/tfjs";

const peakBytes = (trace) => memoryTimeline(trace).highestBytes.reduce((a, b) => Math.max(a, b), 0);
const residentBytes = () => process.resourceUsage().maxRSS * 1024;

const [{ model, backend, size, batch, optimizer }] = await once(process, "message");
if (backend === "tensorflow") await selectBackend({ backend, from: process.env.NATIVE_APP ?? process.cwd() });
else await tf.setBackend(backend);
const { default: build } = await import(pathToFileURL(model).href);
const options = { size, batch: batch === undefined ? undefined : Number(batch), optimizer: optimizer ?? "none" };

const loaded = residentBytes();
const step = await prepareStep(build, options);
step.take();
const resident = residentBytes() - loaded;

const measured = await traceStep(build, options);
const start = performance.now();
const predicted = await traceFakeStep(build, { ...options, backend });
process.send({
  predictedBytes: peakBytes(predicted),
  measuredBytes: peakBytes(measured),
  residentBytes: resident,
  predictedMs: performance.now() - start,
});
