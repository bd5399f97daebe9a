import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InputError, openInput, readInput, readInputHead, readInputText } from "../../src/files/index.js";

const folder = mkdtempSync(join(tmpdir(), "remat-input-"));
const inFolder = (name: string): string => join(folder, name);
const server = createServer();

beforeAll(async () => {
  writeFileSync(inFolder("file"), "a text");
  symlinkSync("file", inFolder("link"));
  execFileSync("mkfifo", [inFolder("pipe")]);
  symlinkSync("pipe", inFolder("link-to-pipe"));
  symlinkSync("/dev/zero", inFolder("link-to-device"));
  mkdirSync(inFolder("folder"));
  await new Promise<void>((done) => server.listen(inFolder("socket"), done));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const ways = { readInput, readInputText, openInput, readInputHead: (path: string) => readInputHead(path, 4) };

it("gives what a regular file has, also through a link", async () => {
  for (const name of ["file", "link"]) {
    expect(readInputText(inFolder(name))).toBe("a text");
    expect(readInput(inFolder(name), { maxBytes: 6 }).toString()).toBe("a text");
    expect(readInputHead(inFolder(name), 3).toString()).toBe("a t");
    expect(readInputHead(inFolder(name), 300).toString()).toBe("a text");
    expect((await openInput(inFolder(name)).toArray()).join("")).toBe("a text");
  }
});

describe.each(Object.entries(ways))("%s refuses at once", (_name, read) => {
  it.each([
    ["pipe", "a named pipe"],
    ["link-to-pipe", "a named pipe"],
    ["link-to-device", "a device"],
    ["folder", "a folder"],
    ["socket", "a socket"],
    ["/dev/zero", "a device"],
    ["/dev/null", "a device"],
    ["/proc/self/environ", "made up by the kernel"],
    ["/proc/kcore", "made up by the kernel"],
    ["/sys/kernel/uevent_seqnum", "made up by the kernel"],
  ])("%s", (name, kind) => {
    const path = name.startsWith("/") ? name : inFolder(name);
    let error: unknown;
    try {
      read(path);
    } catch (thrown) {
      error = thrown;
    }
    // A file of the system may be missing or not be ours, which is an error of the file system's.
    if (name.startsWith("/") && !(error instanceof InputError))
      expect((error as NodeJS.ErrnoException).code).toMatch(/^E(ACCES|PERM|NOENT)$/);
    else
      expect(error).toMatchObject({
        name: "InputError",
        code: "EINPUTKIND",
        path,
        message: expect.stringContaining(kind),
      });
  });
});

it("reads no more than was said, and says how much there is", () => {
  expect(() => readInput(inFolder("file"), { maxBytes: 5 })).toThrow(
    expect.objectContaining({ code: "EINPUTSIZE", message: "it has 6 bytes, and the limit is 5" }),
  );
  writeFileSync(inFolder("sparse"), "");
  truncateSync(inFolder("sparse"), 2 ** 40);
  expect(() => readInput(inFolder("sparse"))).toThrow(expect.objectContaining({ code: "EINPUTSIZE" }));
});

it("reads the pipes that a process is given", async () => {
  const { build } = await import("esbuild");
  const bundle = inFolder("read.mjs");
  await build({
    stdin: {
      contents: `import { readInput } from "./index.js"; process.stdout.write(readInput(process.argv[2], { maxBytes: 200000 }).toString().slice(-6));`,
      resolveDir: new URL("../../src/files", import.meta.url).pathname,
    },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: bundle,
    logLevel: "silent",
  });
  const inShell = async (command: string) => (await promisify(execFile)("bash", ["-c", command])).stdout;
  expect(await inShell(`node ${bundle} <(sleep 0.1; echo -n a text)`)).toBe("a text");
  expect(await inShell(`(sleep 0.1; seq 20000; echo -n a text) | node ${bundle} /dev/stdin`)).toBe("a text");
  expect(await inShell(`node ${bundle} /dev/stdin < ${inFolder("file")}`)).toBe("a text");
  await expect(inShell(`node ${bundle} <(yes)`)).rejects.toThrow(/the limit is 200000/);
  await expect(inShell(`node ${bundle} /dev/stdin < /dev/zero`)).rejects.toThrow(/it is a device/);
});
