import { Worker } from "node:worker_threads";

/** How often a process checks that its parent still exists. */
const lookMs = 500;

const watcher = `
const { workerData: { parent, lookMs } } = require("node:worker_threads");
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, lookMs);
`;

/**
 * Ends this forked process when its parent ends in any way, since a parent killed by a signal cannot end its children.
 * A step or a search can keep this thread from noticing the closed channel for minutes, so another thread checks. That
 * thread takes 9 MB, before anything is measured.
 */
export function endWithParent(): void {
  process.once("disconnect", () => process.exit(1));
  new Worker(watcher, { eval: true, workerData: { parent: process.ppid, lookMs } }).unref();
}
