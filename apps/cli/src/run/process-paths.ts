import { fileURLToPath } from "node:url";

/** Programs that run in processes of their own. */
export type ProcessName = "planning" | "executor" | "stock";

/** Returns the file to start. */
export function pathOfProcess(name: ProcessName): string {
  return fileURLToPath(new URL(`./${name}-process.js`, import.meta.url));
}
