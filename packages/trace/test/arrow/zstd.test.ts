import { readFileSync } from "node:fs";
import zlib from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readArrowTrace, writeArrowTrace } from "../../src/arrow/index.js";
import { joinBytes } from "../bytes.js";
import { tellTrace } from "../tell-trace.js";
import { threeOps } from "../three-ops.js";

/** Written by this package on Node 24. */
const compressed = new Uint8Array(readFileSync(new URL("three-ops.zstd.arrow", import.meta.url)));
/** The process of a platform without `node:zlib`. */
const withoutModules = Object.create(process, { getBuiltinModule: { value: undefined } }) as unknown;
const hasZstd = "zstdCompressSync" in zlib;

describe("an Arrow file that is compressed with zstd", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("is the same trace, with Node's decompressor and without", () => {
    expect(tellTrace(readArrowTrace(compressed))).toEqual(tellTrace(threeOps()));
    vi.stubGlobal("process", withoutModules);
    expect(tellTrace(readArrowTrace(compressed))).toEqual(tellTrace(threeOps()));
  });

  it("is rejected if it is damaged, or is the same trace", () => {
    const told = JSON.stringify(tellTrace(threeOps()));
    const outcomes = { rejected: 0, same: 0 };
    for (let byte = 0; byte < compressed.length; byte += 31) {
      const damaged = compressed.slice();
      damaged[byte] ^= 0xff;
      try {
        const read = readArrowTrace(damaged);
        // Node checks the checksums of zstd.
        if (hasZstd) expect(JSON.stringify(tellTrace(read))).toBe(told);
        outcomes.same++;
      } catch (error) {
        expect(error).toMatchObject({ name: "RematError" });
        outcomes.rejected++;
      }
    }
    expect(outcomes.rejected).toBeGreaterThan(100);
  });

  it("is written if the platform has zstd, and never if it has not", () => {
    const plain = joinBytes(writeArrowTrace(threeOps(), { compress: false }));
    const usual = joinBytes(writeArrowTrace(threeOps()));
    expect(tellTrace(readArrowTrace(usual))).toEqual(tellTrace(threeOps()));
    if (hasZstd) expect(usual).not.toEqual(plain);
    else expect(usual).toEqual(plain);
    vi.stubGlobal("process", withoutModules);
    expect(joinBytes(writeArrowTrace(threeOps()))).toEqual(plain);
    expect(() => writeArrowTrace(threeOps(), { compress: true })).toThrow(
      "writeArrowTrace's compress: expected false or nothing, because this platform has no zstd; found true.",
    );
  });
});
