import { spawn } from "node:child_process";
import { join } from "node:path";

/**
 * Has another process end the program `pid`, with all that it has started, and remove `folder`, should this process end before the returned function is
 * called: even by SIGKILL, of which it hears nothing itself.
 *
 * @param agentFolder where `watcher.cjs` is
 * @internal
 */
export function watchRunner(pid: number, folder: string, agentFolder: string): () => void {
  const watcher = spawn(process.execPath, [join(agentFolder, "watcher.cjs"), String(pid), folder], {
    stdio: ["pipe", "ignore", "ignore"],
    // Not what the program is given: whatever that loads has nothing to do here.
    env: {},
    cwd: agentFolder,
  });
  // Without it a program runs as well.
  watcher.on("error", () => {});
  watcher.stdin.on("error", () => {});
  watcher.unref();
  (watcher.stdin as unknown as { unref?(): void }).unref?.();
  return () => {
    watcher.kill("SIGKILL");
    watcher.stdin.destroy();
  };
}
