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

/** A lock that is held. @internal */
export interface Lock {
  /** Refuses to go on if another process has taken the lock, since this one gave no sign of life for so long. @throws RematError `NATIVE_LOCK_LOST` */
  assertHeld(): void;
}

interface LockTimes {
  /** How often its holder gives a sign of life. */
  readonly beatMs: number;
  /** Without one for so long it is anybody's. */
  readonly deadMs: number;
}

const usual: LockTimes = { beatMs: 5_000, deadMs: 60_000 };

/**
 * Runs `work` while no other process that shares the file system does, in whatever container or on whatever machine it is: a file says who is at work, and its time of
 * change, which the holder sets anew every few seconds, that it is alive. Process ids say nothing, since another container's are others.
 *
 * @param onWait told once, with who holds it, where one has to wait
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
  // The file system sets the time, as its clock can be another than this machine's. It is this file's even if another has taken the lock.
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

/** The lock's file, open; undefined if it is there already. */
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

/** Takes away a lock without signs of life. Times are compared with that of a file made now, as clocks of machines differ. */
function takeFromDead(path: string, deadMs: number): boolean {
  const seen = statSync(path, { throwIfNoEntry: false });
  if (seen === undefined) return true;
  const aside = `${path}-${randomBytes(6).toString("hex")}`;
  closeSync(openSync(aside, "wx"));
  try {
    if (statSync(aside).mtimeMs - seen.mtimeMs <= deadMs) return false;
    renameSync(path, aside);
    // Between looking and taking another may have taken it, and this is that one's: it gets it back.
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
