import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];

/**
 * A Chromium: what `CHROMIUM` names, or one on the PATH; where there is none, Debian's own is installed if that can be done. Without one the
 * tests that need one do not run, which is said, and is a failure in CI.
 */
export function findBrowser(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined && named !== "") {
    if (existsSync(named)) return named;
    throw new Error(`CHROMIUM is ${named}, where there is no file. Expected the path of a Chromium or Chrome.`);
  }
  const found = onPath() ?? (installByApt() ? onPath() : undefined);
  if (found !== undefined) return found;
  const message =
    "NO CHROMIUM: what runs in a browser is not tested. Install one (apt-get install chromium) or name it: CHROMIUM=/path/to/chrome.";
  if (process.env["CI"] === "true") throw new Error(message);
  console.error(`\n${"!".repeat(message.length)}\n${message}\n${"!".repeat(message.length)}\n`);
  return undefined;
}

function onPath(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...candidates, "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"].find((path) =>
    existsSync(path),
  );
}

function installByApt(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const run = (...args: string[]): boolean =>
    spawnSync("apt-get", args, { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } })
      .status === 0;
  return run("update", "-qq") && run("install", "-y", "-qq", "chromium");
}
