import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { seedOfSources } from "../src/seed-of-sources.js";

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "remat-seed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function checkout(text: string): string {
  const cwd = emptyFolder();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd });
  git("init", "-q");
  writeFileSync(join(cwd, "a.txt"), text);
  git("add", ".");
  git("commit", "-qm", "Begin");
  return cwd;
}

it("is the same for the same sources, and another for others", () => {
  const [one, same, other] = [checkout("one"), checkout("one"), checkout("other")].map(seedOfSources);
  expect(one).toBe(same);
  expect(one).not.toBe(other);
  expect(one).toSatisfy((seed: number) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31);
});

it("is a new one each time where there is no checkout", () => {
  const cwd = emptyFolder();
  expect(seedOfSources(cwd)).not.toBe(seedOfSources(cwd));
});
