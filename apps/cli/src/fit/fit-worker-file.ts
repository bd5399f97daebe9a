/** What a thread runs that answers units; run from sources there is none, and units are answered without. */
export const fitWorkerFile: URL = new URL("./fit-worker.js", import.meta.url);
