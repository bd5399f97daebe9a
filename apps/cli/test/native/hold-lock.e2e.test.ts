import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdLock } from "../../src/native/hold-lock.js";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-lock-"));
  path = join(folder, "native/.lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

const minutesAgo = (minutes: number) => Date.now() / 1000 - 60 * minutes;
const never = () => expect.unreachable();

test("one works at a time, and each that waits is told once for whom", async () => {
  const events: string[] = [];
  const work = (name: string) =>
    holdLock(
      path,
      (holder) => events.push(`${name} waits for ${holder.includes(`process ${process.pid}`) ? "us" : holder}`),
      async () => {
        events.push(`${name} begins`);
        await sleep(20);
        events.push(`${name} ends`);
      },
      { beatMs: 5, deadMs: 60_000 },
    );
  await Promise.all([work("a"), work("b"), work("c")]);
  const order = events.filter((line) => !line.includes("waits")).map((line) => line.split(" ")[0]);
  expect(order.map((name, i) => (i % 2 === 1 ? name === order[i - 1] : true))).toEqual(order.map(() => true));
  expect(events.filter((line) => line.includes("waits"))).toEqual(["b waits for us", "c waits for us"]);
  expect(readdirSync(join(folder, "native"))).toEqual([]);
});

test("gives signs of life, by which others know that it is held, whatever process ids they see", async () => {
  await holdLock(
    path,
    never,
    async () => {
      utimesSync(path, minutesAgo(10), minutesAgo(10));
      await sleep(100);
      let waited = 0;
      const other = holdLock(
        path,
        () => waited++,
        async () => {},
        { beatMs: 5, deadMs: 60_000 },
      );
      await sleep(50);
      expect(waited).toBe(1);
      expect(readFileSync(path, "utf8")).toContain(`process ${process.pid}`);
      void other;
      rmSync(path);
      await other;
    },
    { beatMs: 5, deadMs: 60_000 },
  );
});

test("one that was left by a process that is dead is taken at once, by one of those that want it", async () => {
  await holdLock(path, never, async () => {});
  writeFileSync(path, "elsewhere, process 1\n");
  utimesSync(path, minutesAgo(2), minutesAgo(2));
  let inside = 0;
  const run = () =>
    holdLock(
      path,
      () => {},
      async () => {
        expect(++inside).toBe(1);
        await sleep(10);
        inside--;
      },
      { beatMs: 5, deadMs: 60_000 },
    );
  await Promise.all([run(), run(), run(), run()]);
  expect(readdirSync(join(folder, "native"))).toEqual([]);
});

test("one that stood still and lost the lock is told so, and does not take it from the next", async () => {
  const lost = holdLock(path, never, async (lock) => {
    rmSync(path);
    writeFileSync(path, "another, process 1\n");
    lock.assertHeld();
  });
  await expect(lost).rejects.toMatchObject({ code: "NATIVE_LOCK_LOST" });
  expect(readFileSync(path, "utf8")).toBe("another, process 1\n");
});

test("is given back when the work fails", async () => {
  const failed = holdLock(path, never, () => Promise.reject(new Error("no")));
  await expect(failed).rejects.toThrow("no");
  expect(existsSync(path)).toBe(false);
});
