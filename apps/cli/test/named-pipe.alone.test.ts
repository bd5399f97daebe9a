import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { readNamedPipe } from "../src/named-pipe.js";

const sleeps = vi.hoisted(() => ({ count: 0, nowMs: 0 }));
// A machine so busy that each sleep takes three seconds.
vi.mock("node:timers/promises", () => ({
  setTimeout: async () => {
    sleeps.count++;
    sleeps.nowMs += 3000;
  },
}));

const folder = mkdtempSync(join(tmpdir(), "remat-pipe-"));
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

it("waits ten seconds by the clock for a writer, however long its sleeps take", async () => {
  vi.spyOn(performance, "now").mockImplementation(() => sleeps.nowMs);
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  await expect(readNamedPipe(pipe).next()).rejects.toThrow("received no data for 10 seconds");
  expect(sleeps.count).toBe(4);
});
