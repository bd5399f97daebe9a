import { Worker } from "node:worker_threads";

/** How often a process looks whether it still has the parent that started it. */
const lookMs = 500;

const watcher = `
const { workerData: { parent, lookMs } } = require("node:worker_threads");
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, lookMs);
`;

/**
 * Has this process, which another forked, end with that one, however that ends: by a signal it cannot end its children. A step or a plan can keep this thread from hearing
 * that the channel is closed for minutes, so another thread looks. It takes 9 MB, before anything is measured.
 */
export function endWithParent(): void {
  process.once("disconnect", () => process.exit(1));
  new Worker(watcher, { eval: true, workerData: { parent: process.ppid, lookMs } }).unref();
}
