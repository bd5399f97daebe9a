// The main thread waits for a worker thread, which trains and sends its losses.
import { Worker } from "node:worker_threads";

const worker = new Worker(new URL("./learner.mjs", import.meta.url), { workerData: { epochs: 3 } });
worker.on("message", (message) => console.log(JSON.stringify(message)));
worker.on("exit", (code) => console.log(`the worker has ended with ${code}`));
