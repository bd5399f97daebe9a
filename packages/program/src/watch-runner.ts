import { spawn } from "node:child_process";
import { join } from "node:path";

/**
 * Starts another process that ends the program `pid` and everything that it has started, and removes `folder`, if this
 * process ends before the returned function is called. This works even after SIGKILL, which this process cannot catch.
 *
 * @param agentFolder contains `watcher.cjs`
 * @internal
 */
export function watchRunner(pid: number, folder: string | undefined, agentFolder: string): () => void {
  const watcher = startWatcher(agentFolder, [String(pid), ...(folder === undefined ? [] : [folder])]);
  if (watcher === undefined) return () => {};
  watcher.on("error", () => {});
  // Missing if the system has no descriptor left for it.
  const stdin = watcher.stdin as typeof watcher.stdin | undefined;
  stdin?.on("error", () => {});
  watcher.unref();
  (stdin as { unref?(): void } | undefined)?.unref?.();
  return () => {
    watcher.kill("SIGKILL");
    stdin?.destroy();
  };
}

/** A program also runs without the watcher. */
function startWatcher(agentFolder: string, args: readonly string[]) {
  try {
    return spawn(process.execPath, [join(agentFolder, "watcher.cjs"), ...args], {
      stdio: ["pipe", "ignore", "ignore"],
      // The program's environment is not passed on, so that nothing that it loads runs here.
      env: {},
      cwd: agentFolder,
    });
  } catch {
    return undefined;
  }
}
