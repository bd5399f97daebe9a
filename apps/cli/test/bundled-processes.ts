import { inject, vi } from "vitest";
import { bundledPath } from "./bundled-path.js";

vi.mock("../src/run/process-paths.js", () => ({
  pathOfProcess: (name: string) => bundledPath(inject("processes"), name),
}));
