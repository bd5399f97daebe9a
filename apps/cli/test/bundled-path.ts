import { join } from "node:path";

/** Path of the program `name` from `process-paths.ts`, as bundled by `bundleProcesses`. */
export const bundledPath = (folder: string, name: string): string => join(folder, `${name}-process.mjs`);
