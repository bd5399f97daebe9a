import { findBrowser } from "@remat/testkit";
import type { TestProject } from "vitest/node";
import { buildShell } from "../build-shell.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of a Chromium. Empty if there is none. */
    readonly browser: string;
  }
}

/** Bundles the page from its sources, and finds a browser to open it in. */
export default async function setup(project: TestProject): Promise<void> {
  await buildShell();
  project.provide("browser", findBrowser() ?? "");
}
