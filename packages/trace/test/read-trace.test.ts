import { createReadStream, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parseTrace, RematError, readTrace } from "../src/index.js";
import { opIndex } from "../src/index-types.js";
import { fileOf } from "./bytes.js";
import { tellTrace } from "./tell-trace.js";
import { threeOps } from "./three-ops.js";

const path = fileURLToPath(new URL("three-ops.remat.jsonl", import.meta.url));
const told = tellTrace(threeOps());

describe("the trace of three ops, written by hand", () => {
  it("is written as the file beside this test", () => {
    expect(new TextDecoder().decode(fileOf(threeOps()))).toBe(readFileSync(path, "utf8"));
  });

  it("is read from it", async () => {
    expect(tellTrace(await readTrace(createReadStream(path, { highWaterMark: 7 })))).toEqual(told);
  });

  it("says where every byte is", () => {
    const trace = threeOps();
    const live = new Map<number, number>();
    const totals: number[] = [];
    for (const [kind, storage, bytes] of told["events"] as [string, number, number][]) {
      if (kind === "allocate") live.set(storage, bytes);
      if (kind === "free") live.delete(storage);
      if (kind === "op") totals.push([...live.values()].reduce((sum, n) => sum + n, 0));
    }
    // Weight 12 and input 24 stay; product 8, output 8, loss 4, one 4, and the gradients 8 and 12 come and go.
    expect(totals).toEqual([
      36 + 8,
      36 + 16,
      36 + 8 + 4,
      36 + 8 + 4 + 4,
      36 + 8 + 4 + 4 + 8,
      36 + 4 + 8 + 12,
      36 + 4 + 12,
    ]);
    expect(trace.opModule(opIndex(1))?.fqn).toBe("net.dense");
    expect(trace.opModule(opIndex(2))).toBeUndefined();
  });
});

describe("a line longer than any record", () => {
  const first = readFileSync(path, "utf8").split("\n").slice(0, 3).join("\n");
  /** 256 MiB in 256 KB of gzip data. */
  const zipped = (before: string) =>
    gzipSync(Buffer.concat([Buffer.from(before), Buffer.alloc(1 << 28, "a")]), { level: 9 });
  const pieces = function* (bytes: Uint8Array) {
    for (let at = 0; at < bytes.length; at += 1 << 12) yield bytes.subarray(at, at + (1 << 12));
  };
  const error = {
    code: "TRACE_CORRUPT",
    message:
      "bomb.gz line 4: longer than 64 MiB. Record the trace again, or remove this line and all after it to read the part before.",
  };

  it("is refused before it is read, naming file and line, however long it is", async () => {
    const endless = function* () {
      yield Buffer.from(`${first}\n`);
      for (;;) yield Buffer.alloc(1 << 20, "a");
    };
    await expect(readTrace(endless(), { name: "bomb.gz" })).rejects.toMatchObject(error);
  });

  it("is refused in gzip data, most of which is left", async () => {
    const bytes = zipped(`${first}\n`);
    let most = 0;
    const reading = readTrace(pieces(bytes), { name: "bomb.gz", onProgress: (read) => (most = read) });
    await expect(reading).rejects.toMatchObject(error);
    expect(most).toBeLessThan(bytes.length / 2);
    expect(() => parseTrace(bytes, { name: "bomb.gz" })).toThrow(error.message);
  });

  it("is where a damaged file ends that is read as far as it goes", async () => {
    const bytes = zipped(`${first}\n`);
    const truncated = { line: 3, reason: error.message };
    let most = 0;
    const options = { name: "bomb.gz", damaged: "keep", onProgress: (read: number) => (most = read) } as const;
    expect((await readTrace(pieces(bytes), options)).truncated).toEqual(truncated);
    expect(most).toBeLessThan(bytes.length / 2);
    expect(parseTrace(bytes, options).truncated).toEqual(truncated);
  });

  it("as its first line tells that it is no trace", async () => {
    await expect(readTrace(pieces(zipped("")), { name: "bomb.gz" })).rejects.toMatchObject({
      code: "TRACE_NOT_A_TRACE",
      message: expect.stringContaining("its first line is longer than 64 MiB"),
    });
  });
});

describe("readTrace", () => {
  it("tells how far it is, in bytes of the file", async () => {
    const bytes = new Uint8Array(gzipSync(readFileSync(path)));
    const progress: number[] = [];
    const chunks = [bytes.slice(0, 0), bytes.slice(0, 100), bytes.slice(100)];
    await readTrace(chunks, { onProgress: (bytesRead) => progress.push(bytesRead) });
    expect(progress).toEqual([0, 100, bytes.length]);
  });

  it.each([false, true])("lets go of its source when the file is refused (gzipped: %s)", async (gzip) => {
    const lines = readFileSync(path, "utf8").split("\n");
    const text = [...lines.slice(0, 5), "nonsense", ...Array.from({ length: 50_000 }, () => lines[20])].join("\n");
    const bytes = gzip ? gzipSync(text) : Buffer.from(text);
    let left = false;
    const source = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (let i = 0; i < bytes.length; i += 5000) yield bytes.subarray(i, i + 5000);
      } finally {
        left = true;
      }
    };
    await expect(readTrace(source(), { name: "run" })).rejects.toThrow("run line 6: not JSON");
    expect(left).toBe(true);
  });

  it.each([false, true])("passes on an error of its source (gzipped: %s)", async (gzip) => {
    const bytes = fileOf(threeOps(), { gzip });
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes.slice(0, 50);
      throw new Error("the disk is gone");
    };
    await expect(readTrace(source())).rejects.toThrow("the disk is gone");
  });

  it("reads gzip where the platform cannot", async () => {
    const bytes = fileOf(threeOps(), { gzip: true });
    const platform = globalThis.DecompressionStream;
    try {
      Reflect.deleteProperty(globalThis, "DecompressionStream");
      expect(tellTrace(await readTrace([bytes]))).toEqual(told);
    } finally {
      Object.defineProperty(globalThis, "DecompressionStream", { value: platform, configurable: true, writable: true });
    }
  });

  it("reads gzip files that were joined", async () => {
    const plain = fileOf(threeOps());
    const joined = new Uint8Array(Buffer.concat([gzipSync(plain.slice(0, 700)), gzipSync(plain.slice(700))]));
    expect(tellTrace(await readTrace([joined]))).toEqual(told);
    expect(tellTrace(parseTrace(joined))).toEqual(told);
  });

  it("refuses gzip data whose checksum is wrong, streamed or not", async () => {
    const bytes = fileOf(threeOps(), { gzip: true });
    bytes[bytes.length - 6] ^= 1;
    const message =
      "run: the gzip data is damaged after line 29 or earlier (its checksum does not match). Record the trace again.";
    expect(() => parseTrace(bytes, { name: "run" })).toThrow(new RematError("TRACE_CORRUPT", message));
    await expect(readTrace([bytes], { name: "run" })).rejects.toThrow(message);
  });

  it("reads lines longer than any block", async () => {
    const lines = readFileSync(path, "utf8").split("\n");
    const name = "x".repeat(3_000_000);
    const at = lines.findIndex((line) => line.includes('"t":"mark"'));
    const text = lines.with(at, JSON.stringify({ t: "mark", name })).join("\n");
    const bytes = Buffer.from(text);
    const chunks = function* (): Generator<Uint8Array> {
      for (let i = 0; i < bytes.length; i += 1000) yield bytes.subarray(i, i + 1000);
    };
    expect((await readTrace(chunks())).strings).toContain(name);
  });
});
