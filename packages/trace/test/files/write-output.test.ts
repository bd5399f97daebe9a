import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import {
  checkOutput,
  isStandardOutput,
  refusedOutput,
  replaceFile,
  writeNewFile,
  writeOutput,
} from "../../src/files/index.js";

const root = mkdtempSync(join(tmpdir(), "remat-output-"));
let folder = root;
beforeEach(() => {
  folder = mkdtempSync(join(root, "each-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("an output file", () => {
  it("is whole, with the mode of the one before it, and nothing beside it", async () => {
    const path = join(folder, "plan.json");
    writeFileSync(path, "before");
    chmodSync(path, 0o600);
    await writeOutput(path, ["a", Buffer.from("b"), "c"]);
    expect(readFileSync(path, "utf8")).toBe("abc");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["plan.json"]);
  });

  it("has the mode that a new file has, where there was none", async () => {
    await writeOutput(join(folder, "ours"), "");
    writeFileSync(join(folder, "theirs"), "");
    expect(statSync(join(folder, "ours")).mode).toBe(statSync(join(folder, "theirs")).mode);
  });

  it("is what a symlink leads to, there or not, and the link stays", async () => {
    symlinkSync("real.json", join(folder, "to-file"));
    symlinkSync("to-file", join(folder, "to-link"));
    for (const text of ["new", "newer"]) {
      await writeOutput(join(folder, "to-link"), text);
      expect(readFileSync(join(folder, "real.json"), "utf8")).toBe(text);
    }
    expect(lstatSync(join(folder, "to-link")).isSymbolicLink()).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(["real.json", "to-file", "to-link"]);
  });

  it("is refused where symlinks go in a circle", async () => {
    symlinkSync("b", join(folder, "a"));
    symlinkSync("a", join(folder, "b"));
    await expect(writeOutput(join(folder, "a"), "")).rejects.toThrow(/ELOOP/);
  });

  it("is the one before where its content fails, and nothing is beside it", async () => {
    const path = join(folder, "run.jsonl");
    writeFileSync(path, "before");
    const failing = function* (): Generator<string> {
      yield "half";
      throw new Error("no more");
    };
    await expect(writeOutput(path, failing())).rejects.toThrow("no more");
    expect(readFileSync(path, "utf8")).toBe("before");
    expect(readdirSync(folder)).toEqual(["run.jsonl"]);
  });

  it("is no folder, and not in one that is not there", async () => {
    await expect(writeOutput(folder, "")).rejects.toThrow(/EISDIR/);
    await expect(writeOutput(join(folder, "none", "a"), "")).rejects.toThrow(/ENOENT/);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("places that can be written", () => {
  it("is told without a trace of it, before there is anything to write", () => {
    const path = join(folder, "plan.json");
    checkOutput(path);
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(path, "before");
    checkOutput(path);
    for (const other of ["-", "/dev/null", "/dev/full"]) checkOutput(other);
    expect(readFileSync(path, "utf8")).toBe("before");
    expect(readdirSync(folder)).toEqual(["plan.json"]);
    expect(() => checkOutput(folder)).toThrow(/EISDIR/);
    expect(() => checkOutput(join(folder, "none", "a"))).toThrow(/ENOENT/);
    expect(() => checkOutput(join(path, "a"))).toThrow(/ENOTDIR/);
    // By the given name, not by that of the temporary file.
    expect(() => checkOutput(join(folder, "none", "a"))).toThrow(join(folder, "none", "a"));
  });
});

describe("outputs that are not files", () => {
  it("is rejected at once where writing would wait: a named pipe, also behind a link; a socket", async () => {
    const fifo = join(folder, "fifo");
    execFileSync("mkfifo", [fifo]);
    symlinkSync("fifo", join(folder, "link"));
    const server = createServer().listen(join(folder, "socket"));
    await once(server, "listening");
    for (const [name, what] of [
      ["fifo", "a named pipe"],
      ["link", "a named pipe"],
      ["socket", "a socket"],
      [".", "a folder"],
    ]) {
      const path = join(folder, name);
      expect(refusedOutput(path)).toBe(what);
      const message = what === "a folder" ? /EISDIR/ : `it is ${what}, not a regular file`;
      await expect(writeOutput(path, "text")).rejects.toThrow(message);
      expect(() => checkOutput(path)).toThrow(message);
    }
    expect(lstatSync(fifo).isFIFO()).toBe(true);
    await new Promise((closed) => server.close(closed));
  });

  it("is not asked of what is written to: files, free names, devices, descriptors", () => {
    for (const path of [join(folder, "new"), "-", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/full", "/dev/fd/1"])
      expect(refusedOutput(path)).toBeUndefined();
  });

  it("is written to and stays: a device, whose errors are told", async () => {
    await writeOutput("/dev/null", "gone");
    expect(lstatSync("/dev/null").isCharacterDevice()).toBe(true);
    await expect(writeOutput("/dev/full", "x")).rejects.toThrow(/ENOSPC/);
    expect(lstatSync("/dev/full").isCharacterDevice()).toBe(true);
  });

  it("is standard output by three names, and by a link to it", async () => {
    let written = "";
    const stdout = { write: (chunk: string | Uint8Array) => (written += chunk.toString()) };
    symlinkSync("/dev/stdout", join(folder, "out"));
    for (const path of ["-", "/dev/stdout", "/proc/self/fd/1", join(folder, "out")]) {
      expect(isStandardOutput(path)).toBe(true);
      await writeOutput(path, path, { stdout });
    }
    expect(written).toBe(`-/dev/stdout/proc/self/fd/1${join(folder, "out")}`);
    expect(isStandardOutput(join(folder, "plan.json"))).toBe(false);
  });
});

describe("a new file", () => {
  it("never takes the place of another, nor follows a link, and nothing is beside it", () => {
    symlinkSync("/dev/null", join(folder, "a.csv"));
    const paths = ["one", "two"].map((text) => writeNewFile(folder, "a.csv", text));
    expect(paths).toEqual([join(folder, "a-2.csv"), join(folder, "a-3.csv")]);
    expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(["one", "two"]);
    expect(readdirSync(folder).toSorted()).toEqual(["a-2.csv", "a-3.csv", "a.csv"]);
  });

  it("says why it cannot be written", () => {
    expect(() => writeNewFile(join(folder, "none"), "a", "")).toThrow(/ENOENT/);
    expect(() => writeNewFile("/dev/full", "a", "")).toThrow(/ENOTDIR/);
  });
});

describe("a file of ours", () => {
  it("is replaced as a whole, through links, with its mode", () => {
    writeFileSync(join(folder, "real"), "", { mode: 0o640 });
    symlinkSync("real", join(folder, "link"));
    replaceFile(join(folder, "link"), "new");
    expect(readFileSync(join(folder, "real"), "utf8")).toBe("new");
    expect(statSync(join(folder, "real")).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder).toSorted()).toEqual(["link", "real"]);
  });

  it("does not take the place of what is no file", () => {
    expect(() => replaceFile("/dev/null", "")).toThrow(/not a file/);
    expect(lstatSync("/dev/null").isCharacterDevice()).toBe(true);
  });
});
