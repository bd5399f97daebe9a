import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseJson } from "../src/importers/parse-json.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-parse-json-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

test("a compressed file that unpacks to more than 256 MiB is rejected with the next step", () => {
  // Streams of gzip data that follow each other are one text.
  const part = gzipSync(Buffer.alloc(16 * 2 ** 20, " "), { level: 1 });
  const bomb = write("bomb.json.gz", Buffer.concat(Array.from({ length: 64 }, () => part)));
  expect(() => parseJson(bomb)).toThrow(`${bomb}: it unpacks to more than 256 MiB. If you trust the file,`);
});

test("a compressed file that ends early, and one that is not compressed, are rejected by name", () => {
  const whole = gzipSync(Buffer.from('{"a":1}'));
  expect(parseJson(write("whole.json.gz", whole))).toEqual({ a: 1 });
  expect(() => parseJson(write("short.json.gz", whole.subarray(0, 15)))).toThrow("short.json.gz: not JSON");
  expect(() => parseJson(write("plain.json.gz", "{}"))).toThrow("plain.json.gz: not JSON");
});

test("deep nesting is rejected by file, not by the stack of the process", () => {
  const path = write("deep.json", "[".repeat(100_000) + "]".repeat(100_000));
  expect(() => parseJson(path)).toThrow(
    `${path}: not JSON (its lists and objects are nested more than 1000 levels deep)`,
  );
});
