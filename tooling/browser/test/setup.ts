import { findBrowser } from "@remat/testkit";
import { findFirefox } from "@remat/testkit/firefox";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of a Chromium; empty where there is none. */
    readonly browser: string;
    /** Path of a Firefox; empty where there is none. */
    readonly firefox: string;
  }
}

/** Finds browsers to train in. */
export default function setup(project: TestProject): void {
  project.provide("browser", findBrowser() ?? "");
  project.provide("firefox", findFirefox() ?? "");
}
