import { join } from "node:path";

/** Where `bundleProcesses` has put the program `name`, which is as in `process-paths.ts`. */
export const bundledPath = (folder: string, name: string): string => join(folder, `${name}-process.mjs`);
