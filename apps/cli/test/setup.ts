import { rmSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { buildShell } from "../../report/build-shell.js";
import { bundleProcesses } from "./bundle-processes.js";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the programs that `bundleProcesses` has made. */
    readonly processes: string;
  }
}

/**
 * Bundles the processes of `remat run` and `remat doctor`, and the page of reports, from their sources, once for all
 * files. Returns a function that removes the processes.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const [folder] = await Promise.all([bundleProcesses(), buildShell()]);
  project.provide("processes", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
