import { spawnSync } from "node:child_process";

const tries = 60;
const betweenMs = 5000;

/**
 * Installs Debian packages with `apt-get`, after printing which. Does so in CI and if `REMAT_INSTALL_TOOLS=1` is set,
 * since tests should not change the system unasked. Needs Linux and root. Waits up to five minutes for another
 * `apt-get`, since test files install concurrently. Returns whether the packages are installed now.
 */
export function installByApt(...packages: readonly string[]): boolean {
  if (process.env["CI"] !== "true" && process.env["REMAT_INSTALL_TOOLS"] !== "1") return false;
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  if (aptGet("--version").status !== 0) return false;
  console.error(`Installing for the tests that need it: apt-get install ${packages.join(" ")}`);
  return waitForLock("update", "-qq") && waitForLock("install", "-y", "-qq", "--no-install-recommends", ...packages);
}

function waitForLock(...args: readonly string[]): boolean {
  for (let tried = 0; ; tried++) {
    const { status, stderr } = aptGet(...args);
    if (status === 0) return true;
    if (tried === tries || !/could not get lock|unable to (?:acquire|lock)/i.test(stderr)) return false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, betweenMs);
  }
}

const aptGet = (...args: readonly string[]): { readonly status: number | null; readonly stderr: string } =>
  spawnSync("apt-get", args, {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
  });
