import { rmSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { bundleProcesses } from "./bundle-processes.js";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the programs that `bundleProcesses` has made. */
    readonly processes: string;
  }
}

/** Bundles the processes of `remat run` and `remat doctor` from their sources, once for all files; returns what removes them. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = await bundleProcesses();
  project.provide("processes", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
