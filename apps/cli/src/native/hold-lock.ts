import { randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RematError } from "@remat/trace";

/**
 * A lock that this process owns.
 *
 * @internal
 */
export interface Lock {
  /**
   * Throws if another process has taken the lock because this one did not refresh it for too long.
   *
   * @throws RematError `NATIVE_LOCK_LOST`
   */
  assertHeld(): void;
}

interface LockTimes {
  /** Interval at which the owner refreshes the lock. */
  readonly beatMs: number;
  /** Age after which the lock counts as abandoned. */
  readonly deadMs: number;
}

const usual: LockTimes = { beatMs: 5_000, deadMs: 60_000 };

/**
 * Runs `work` in one process at a time, of all processes that share the file system, in any container or on any
 * machine. A lock file names the owner, which updates the file's modification time every few seconds. Process ids are
 * not used, since they differ between containers.
 *
 * @param onWait called once with the owner if the lock is taken
 * @internal
 */
export async function holdLock<T>(
  path: string,
  onWait: (holder: string) => void,
  work: (lock: Lock) => Promise<T>,
  { beatMs, deadMs }: LockTimes = usual,
): Promise<T> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const holder = `${hostname()}, process ${process.pid}\n`;
  let waits = false;
  let file = tryCreate(path, holder);
  while (file === undefined) {
    if (!takeFromDead(path, deadMs)) {
      if (!waits) onWait(readText(path).trim());
      waits = true;
      await sleep(Math.min(beatMs, 500));
    }
    file = tryCreate(path, holder);
  }
  const held = file;
  const isMine = () => statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(held).ino;
  // The file system sets the time, since its clock may differ from this machine's. The write goes to this process's own
  // file even if another process has taken the lock.
  const beat = setInterval(() => writeSync(held, holder, 0), beatMs);
  try {
    return await work({
      assertHeld() {
        if (!isMine())
          throw new RematError(
            "NATIVE_LOCK_LOST",
            `this process was paused for more than ${deadMs / 1000} s, and another one took over ${path}. Start it again.`,
          );
      },
    });
  } finally {
    clearInterval(beat);
    if (isMine()) rmSync(path, { force: true });
    closeSync(held);
  }
}

/** Creates and opens the lock file. Returns undefined if it already exists. */
function tryCreate(path: string, text: string): number | undefined {
  try {
    const file = openSync(path, "wx", 0o644);
    writeSync(file, text, 0);
    return file;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  }
}

/** Removes an abandoned lock. Its age is compared with a file created now, since clocks of machines differ. */
function takeFromDead(path: string, deadMs: number): boolean {
  const seen = statSync(path, { throwIfNoEntry: false });
  if (seen === undefined) return true;
  const aside = `${path}-${randomBytes(6).toString("hex")}`;
  closeSync(openSync(aside, "wx"));
  try {
    if (statSync(aside).mtimeMs - seen.mtimeMs <= deadMs) return false;
    renameSync(path, aside);
    // Another process may have taken the lock between the check and the rename. If so, the lock is put back.
    if (statSync(aside).ino !== seen.ino || statSync(aside).mtimeMs !== seen.mtimeMs) linkSync(aside, path);
    return true;
  } catch (error) {
    if (["ENOENT", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) return true;
    throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "another process";
  }
}
