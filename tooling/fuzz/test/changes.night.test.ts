import fc from "fast-check";
import { expect, test } from "vitest";
import { byteChanges, changeBytes } from "../src/files/byte-changes.js";
import { checkFile } from "../src/files/check-file.js";
import { bytesOf, sampleFiles, settingsFiles } from "../src/files/sample-files.js";
import { changeJson, jsonChanges } from "../src/json-changes.js";

const value = { a: [1, 2, { b: "text", c: true }], d: { e: null }, f: 3 };

test("changes leave the original alone, and most make another value", () => {
  const before = JSON.stringify(value);
  const changed = fc
    .sample(jsonChanges, { seed: 1, numRuns: 200 })
    .map((changes) => JSON.stringify(changeJson(value, changes)));
  expect(JSON.stringify(value)).toBe(before);
  expect(changed.filter((text) => text !== before).length).toBeGreaterThan(130);
  expect(new Set(changed).size).toBeGreaterThan(100);
});

test("each change does what it is called", () => {
  const change = (does: "remove" | "swap" | "duplicate" | "cut", place: number, other = 1) =>
    changeJson([1, 2, 3], [{ does, place, other, value: 0 }]);
  expect(change("remove", 1)).toEqual([1, 3]);
  expect(change("swap", 0)).toEqual([2, 1, 3]);
  expect(change("duplicate", 2, 0)).toEqual([3, 1, 2, 3]);
  expect(changeJson({ a: [1, 2, 3] }, [{ does: "cut", place: 0, other: 1, value: 0 }])).toEqual({ a: [1] });
});

test("bytes are changed anywhere", () => {
  const bytes = Buffer.from("0123456789");
  const changed = fc.sample(byteChanges, { seed: 1, numRuns: 300 }).map((changes) => changeBytes(bytes, changes));
  expect(bytes.toString()).toBe("0123456789");
  expect(new Set(changed.map((each) => Buffer.from(each).toString("hex"))).size).toBeGreaterThan(100);
});

test("sample files are read as they are, and what a command did not think of is told", async () => {
  for (const { name, lines, commands } of await sampleFiles())
    for (const command of commands) {
      const bytes = Buffer.from(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
      expect(await checkFile(name, bytes, command)).toBeUndefined();
    }
  expect(await checkFile("step.remat.jsonl", Buffer.from("{"), ["estimate"])).toBeUndefined();
  expect(await checkFile("step.remat.jsonl", Buffer.from("{"), ["no-command"])).toMatch(/names no file/);
});

test("settings, baselines, plans, specs and logs that were changed are read or rejected by name", async () => {
  const samples = await settingsFiles();
  const wrong: string[] = [];
  for (const { name, commands, run, ...sample } of samples) {
    const whole = bytesOf(sample);
    // `pnpm fuzz` tries many more.
    const fields = fc.sample(jsonChanges, { seed: 47, numRuns: 8 });
    const bytes = fc.sample(byteChanges, { seed: 47, numRuns: 3 });
    const changed = [
      whole,
      ...(sample.text === undefined ? fields : []).map((each) => bytesOf({ lines: changeJson(sample.lines, each) })),
      ...bytes.map((each) => changeBytes(whole, each)),
      ...[0, 1, whole.length >> 1, whole.length - 3].map((length) => whole.subarray(0, length)),
    ];
    for (const each of changed) {
      const what = await checkFile(name, each, commands[0], run);
      if (what !== undefined) wrong.push(`${name}: ${what}\n${Buffer.from(each).toString().slice(0, 300)}`);
    }
  }
  expect(wrong).toEqual([]);
});
