import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nativeApp } from "@remat/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allocatorEnvironment, compileAllocator, keepingWithin } from "../../src/native/allocator-library.js";
import { runCommand } from "../../src/native/run-command.js";

const nativeFolder = nativeApp();

// Only where there is what compiles the native addon, too.
describe.runIf(nativeFolder !== undefined)("the caching allocator under tensorflow", () => {
  let cache: string;
  beforeAll(async () => {
    cache = mkdtempSync(join(tmpdir(), "remat-allocator-"));
    await compileAllocator(process.env.CXX ?? "g++", { ...process.env, REMAT_CACHE_DIR: cache });
  });
  afterAll(() => rmSync(cache, { recursive: true }));

  /** Output of a program, with or without the allocator. */
  async function run(name: string, argument: string, isAllocated: boolean, more: object = {}): Promise<unknown> {
    const { LD_PRELOAD: _, TF_ONEDNN_USE_SYSTEM_ALLOCATOR: __, ...env } = process.env;
    const added = isAllocated ? allocatorEnvironment({ REMAT_CACHE_DIR: cache }) : {};
    expect(Object.keys(added)).toHaveLength(isAllocated ? 2 : 0);
    const script = fileURLToPath(new URL(name, import.meta.url));
    const { code, stdout, stderr } = await runCommand(process.execPath, ["--expose-gc", script, argument], {
      env: { ...env, ...added, ...more, NODE_OPTIONS: "", TF_CPP_MIN_LOG_LEVEL: "3" },
    });
    expect(stderr).not.toContain("cannot be preloaded");
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  }

  test.each(["1", "2", "3"])(
    "gives arrays that are zero and stay as they are, in little more memory: seed %s",
    async (seed) => {
      const { mostBytes, residentBytes } = (await run("random-arrays.mjs", seed, true)) as {
        mostBytes: number;
        residentBytes: number;
      };
      // Memory that the allocator keeps beyond live memory, one array that is already garbage, and the engine's own
      // heap.
      expect(residentBytes).toBeLessThan(1.125 * mostBytes + 48 * 2 ** 20 + 2 ** 25 + 32e6);
    },
  );

  test("keeps what is freed only within what it may", async () => {
    const residentBytes = async (more?: object) =>
      ((await run("holes-among-arrays.mjs", "", true, more)) as { residentBytes: number }).residentBytes;
    // 256 MiB are in use at once; of the 128 MiB in holes, an eighth of that and 48 MiB may stay.
    const [any, none] = [await residentBytes(), await residentBytes(keepingWithin(0))];
    expect(none).toBeLessThan(any - 60 * 2 ** 20);
    expect(await residentBytes(keepingWithin(1e9))).toBeGreaterThan(none + 60 * 2 ** 20);
  });

  test("lets a child go on that was forked while other threads allocate", async () => {
    const program = join(cache, "fork-while-allocating");
    const source = fileURLToPath(new URL("fork-while-allocating.cc", import.meta.url));
    const compiler = process.env.CXX ?? "g++";
    const compiled = await runCommand(compiler, ["-O1", "-pthread", source, "-o", program], { env: process.env });
    expect(compiled.code, compiled.stderr).toBe(0);
    const env = { ...process.env, ...allocatorEnvironment({ REMAT_CACHE_DIR: cache }), NODE_OPTIONS: "" };
    expect(await runCommand(program, [], { env })).toEqual({ code: 0, signal: undefined, stdout: "", stderr: "" });
  });

  test("trains to the same values, to the bit", async () => {
    const app = nativeFolder as string;
    const expected = await run("train-native.mjs", app, false);
    expect(expected).toMatch(/^[0-9a-f]{64}$/);
    expect(await run("train-native.mjs", app, true)).toBe(expected);
  });
});
