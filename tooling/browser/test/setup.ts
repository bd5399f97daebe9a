import { findBrowser } from "@remat/testkit";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of a Chromium; empty where there is none. */
    readonly browser: string;
  }
}

/** Finds a browser to train in. */
export default function setup(project: TestProject): void {
  project.provide("browser", findBrowser() ?? "");
}
