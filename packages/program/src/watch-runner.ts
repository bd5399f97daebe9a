import { spawn } from "node:child_process";
import { dirname, join } from "node:path";

/**
 * Has another process end the program `pid`, with all that it has started, and remove `folder`, if there is one, should this process end before the returned function is
 * called: even by SIGKILL, of which it hears nothing itself.
 *
 * @param agentFolder where `watcher.cjs` is
 * @internal
 */
export function watchRunner(pid: number, folder: string | undefined, agentFolder: string): () => void {
  const watcher = startWatcher([
    join(agentFolder, "watcher.cjs"),
    String(pid),
    ...(folder === undefined ? [] : [folder]),
  ]);
  if (watcher === undefined) return () => {};
  watcher.on("error", () => {});
  // Left out where the system has no descriptor left for it.
  const stdin = watcher.stdin as typeof watcher.stdin | undefined;
  stdin?.on("error", () => {});
  watcher.unref();
  (stdin as { unref?(): void } | undefined)?.unref?.();
  return () => {
    watcher.kill("SIGKILL");
    stdin?.destroy();
  };
}

/** Without it a program runs as well. */
function startWatcher(args: readonly string[]) {
  try {
    return spawn(process.execPath, args, {
      stdio: ["pipe", "ignore", "ignore"],
      // Not what the program is given: whatever that loads has nothing to do here.
      env: {},
      cwd: dirname(args[0]),
    });
  } catch {
    return undefined;
  }
}
