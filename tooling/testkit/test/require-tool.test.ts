import { afterEach, expect, it, vi } from "vitest";
import { requireTool } from "../src/require-tool.js";

const missing = {
  name: "LOOKING GLASS",
  find: () => undefined,
  packages: ["a-package-that-debian-has-not"],
  withoutIt: "what is behind it is not tested",
  nextStep: "Make one.",
};

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

// Nothing is asked of apt: there is none on an empty PATH.
it("fails in CI where a tool is missing, and says so elsewhere", () => {
  vi.stubEnv("PATH", "");
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.stubEnv("CI", "true");
  expect(() => requireTool(missing)).toThrow("NO LOOKING GLASS: what is behind it is not tested. Make one.");
  vi.stubEnv("CI", "");
  expect(requireTool(missing)).toBeUndefined();
  expect(said.mock.calls.join()).toContain("NO LOOKING GLASS: what is behind it is not tested. Make one.");
});

it("takes what is there", () => {
  expect(requireTool({ ...missing, find: () => "/a/path" })).toBe("/a/path");
});
