import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

it("changes the system only in CI or if asked to", () => {
  const folder = mkdtempSync(join(tmpdir(), "remat-apt-"));
  const log = join(folder, "log");
  writeFileSync(join(folder, "apt-get"), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", folder);
  vi.spyOn(process, "getuid").mockReturnValue(0);
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  try {
    vi.stubEnv("CI", "");
    expect(requireTool(missing)).toBeUndefined();
    expect(existsSync(log)).toBe(false);
    vi.stubEnv("REMAT_INSTALL_TOOLS", "1");
    expect(requireTool(missing)).toBeUndefined();
    expect(said.mock.calls.flat()).toContain(
      "Installing for the tests that need it: apt-get install a-package-that-debian-has-not",
    );
    expect(readFileSync(log, "utf8")).toContain("a-package-that-debian-has-not");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("takes what is there", () => {
  expect(requireTool({ ...missing, find: () => "/a/path" })).toBe("/a/path");
});
