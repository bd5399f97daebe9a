import { expect, test } from "vitest";
import { lackOfDescriptors } from "../src/lack-of-descriptors.js";

const failed = (code: string): Error => Object.assign(new Error("Cannot find package"), { code });

test("if few files may be open, Node's errors about missing modules are reported as that, in one line", () => {
  const line = "could not open its files: only 40 files may be open at once here. Allow more with: ulimit -n 1024";
  for (const code of ["EMFILE", "ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"])
    expect(lackOfDescriptors(failed(code), () => 40)).toBe(line);
  expect(lackOfDescriptors(failed("EMFILE"), () => 65536)).toMatch(/too many files are open/);
});

test("a module that is missing where there are descriptors, and other errors, are told as they are", () => {
  expect(lackOfDescriptors(failed("ERR_MODULE_NOT_FOUND"), () => 1024)).toBeUndefined();
  expect(lackOfDescriptors(failed("ENOENT"), () => 40)).toBeUndefined();
  expect(lackOfDescriptors(undefined, () => 40)).toBeUndefined();
});
