/**
 * The code of a thread that computes units. The file does not exist if remat runs from its sources, so units are then
 * computed without threads.
 */
export const fitWorkerFile: URL = new URL("./fit-worker.js", import.meta.url);
