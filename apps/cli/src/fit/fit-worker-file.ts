/**
 * The code of a thread that computes units. It does not exist when running from sources. Units are then computed
 * without threads.
 */
export const fitWorkerFile: URL = new URL("./fit-worker.js", import.meta.url);
