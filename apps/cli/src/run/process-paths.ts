import { fileURLToPath } from "node:url";

/** Paths relative to this file. */
const files = {
  planning: "./planning-process.js",
  executor: "./executor-process.js",
  stock: "./stock-process.js",
  probe: "../doctor/probe-process.js",
} as const;

/** Programs that run in separate processes. */
export type ProcessName = keyof typeof files;

/** Returns the file to start. */
export function pathOfProcess(name: ProcessName): string {
  return fileURLToPath(new URL(files[name], import.meta.url));
}
