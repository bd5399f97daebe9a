import { readFileSync } from "node:fs";
import { RematError } from "@remat/trace";
import fc from "fast-check";
import { strToU8, unzipSync, unzlibSync, zipSync, zlibSync } from "fflate";
import { describe, expect, it } from "vitest";
import { inflateExactly } from "../src/inflate-exactly.js";
import { readArchive, readArchiveWeights } from "../src/read-archive.js";
import type { Hdf5Object } from "../src/weights/hdf5/open-file.js";
import { openFile } from "../src/weights/hdf5/open-file.js";
import { readHdf5Topology, readKerasWeights, type StoredArray, type StoredObject } from "../src/weights/index.js";
import { savedFiles } from "./weight-files.js";

const fixture = (name: string) => unzipSync(readFileSync(new URL(`fixtures/${name}`, import.meta.url)));
const { "expected.json": _, ...written } = fixture("hdf5-files.zip");
const found = fixture("hostile-hdf5.zip");

/** Seconds of processor time that reading takes. */
function secondsOf(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** All arrays that a file of weights has are read, whatever their shapes, as long as they are small. */
function readAll(bytes: Uint8Array): void {
  const weights = readKerasWeights(bytes);
  const arrays: readonly StoredArray[] =
    weights.layout === "objects"
      ? arraysIn(weights.root)
      : weights.layout === "layers"
        ? [...weights.layers.values()].flat()
        : weights.arrays;
  for (const array of arrays)
    if (array.shape.reduce((all, size) => all * size, 1) < 1e6) array.read("float32").dispose();
}

const arraysIn = ({ arrays, objects }: StoredObject): readonly StoredArray[] => [
  ...arrays,
  ...[...objects.values()].flatMap(arraysIn),
];

/** Everything in a file that h5py wrote, by what reads it. */
function walk(group: Hdf5Object, seen = new Set<number>()): void {
  if (seen.has(group.address)) return;
  seen.add(group.address);
  void group.attrs;
  for (const key of group.keys) {
    const inner = group.get(key);
    if (!inner.isArray) walk(inner, seen);
    else if (inner.shape.reduce((all, size) => all * size, 1) < 1e6) inner.numbers();
  }
}

/** The error of reading, or undefined if there is none. */
function refusalOf(read: () => void): RematError | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(RematError);
    return error as RematError;
  }
}

describe("an HDF5 file that never ended", () => {
  it.each(Object.keys(found))("%s is refused or read at once", (name) => {
    const seconds = secondsOf(() => {
      const refusal = refusalOf(() => readAll(found[name]!));
      if (refusal !== undefined)
        expect(refusal).toMatchObject({ code: "KERAS_WEIGHTS_FILE", message: expect.stringContaining("HDF5") });
      refusalOf(() => void readHdf5Topology(found[name]!));
    });
    expect(seconds).toBeLessThan(5);
  });

  it("names the array of which a chunk unpacks to more than it declares", () => {
    const messages = Object.values(found).flatMap((bytes) => refusalOf(() => readAll(bytes))?.message ?? []);
    expect(messages.length).toBeGreaterThan(0);
    for (const message of messages) expect(message.length).toBeLessThan(500);
  });
});

describe("any change to an HDF5 file", () => {
  const samples = [
    ...Object.entries(written),
    ...[2, 3].flatMap((g) => [["films.h5", savedFiles(g as 2 | 3).fileOf("films.h5")] as const]),
  ];
  const values = [0, 1, 2, 0x7f, 0x80, 0xff];

  it.each(samples)("%s, by any byte, is read or refused in bounded time", (_name, whole) => {
    const change = fc.record({
      at: fc.nat(whole.length - 1),
      to: fc.oneof(fc.constantFrom(...values), fc.nat(255)),
      wide: fc.boolean(),
    });
    const seconds = secondsOf(() =>
      fc.assert(
        fc.property(
          fc.array(change, { minLength: 1, maxLength: 4 }),
          fc.option(fc.nat(whole.length)),
          (changes, end) => {
            const bytes = whole.slice(0, end ?? undefined);
            for (const { at, to, wide } of changes) bytes.fill(to, at, at + (wide ? 8 : 1));
            try {
              walk(openFile(bytes));
            } catch (error) {
              // Errors of structure, and of what the bounds refuse; never an exhausted stack or memory.
              expect(error).toBeInstanceOf(Error);
              expect((error as Error).message).not.toMatch(
                /call stack|allocation failed|Invalid (typed )?array length/,
              );
            }
          },
        ),
        { numRuns: 300 },
      ),
    );
    expect(seconds).toBeLessThan(60);
  });

  it("that makes a group contain itself, or be in many places, is rejected", () => {
    const whole = savedFiles(3).fileOf("films.weights.h5");
    const root = openFile(whole);
    const [first, second] = [root, root.get("layers")].map(({ address }) => address) as [number, number];
    // Wherever the file says that the second group is, the first is put.
    const bytes = whole.slice();
    const view = new DataView(bytes.buffer);
    for (let at = 0; at + 8 <= bytes.length; at++)
      if (view.getUint32(at, true) === second && view.getUint32(at + 4, true) === 0) view.setUint32(at, first, true);
    const refusal = refusalOf(() => readAll(bytes));
    expect(refusal?.message).toMatch(/twice, or in itself|again and again/);
  });
});

describe("compressed data", () => {
  it("with any size and content is unpacked exactly to its declared size", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 2000 }),
        fc.integer({ min: -3, max: 3 }),
        fc.nat(40),
        (part, off, times) => {
          const whole = Buffer.concat(Array.from({ length: times + 1 }, () => part));
          const packed = zlibSync(whole).subarray(2, -4);
          const read = (): Uint8Array => inflateExactly(packed, Math.max(0, whole.length + off));
          if (Math.max(0, whole.length + off) === whole.length) expect(Buffer.from(read()).equals(whole)).toBe(true);
          else expect(read).toThrow(/declared/);
        },
      ),
    );
  });

  it("that unpacks to a gigabyte is not, where kilobytes were declared", () => {
    const packed = zlibSync(new Uint8Array(64 << 20), { level: 9 });
    expect(unzlibSync(packed)).toHaveLength(64 << 20);
    const memory = process.memoryUsage().arrayBuffers;
    expect(
      secondsOf(() =>
        expect(() => inflateExactly(packed.subarray(2, -4), 4096)).toThrow(/more than the declared 4096/),
      ),
    ).toBeLessThan(2);
    expect(process.memoryUsage().arrayBuffers - memory).toBeLessThan(40 << 20);
    expect(() => inflateExactly(packed.subarray(0, 100), 2 ** 32)).toThrow(/100 compressed bytes cannot contain/);
  });
});

describe("an archive", () => {
  const config = strToU8('{"class_name":"Sequential"}');
  const zip = (): Uint8Array<ArrayBuffer> =>
    zipSync({ "config.json": config, "model.weights.h5": new Uint8Array(5000) }) as Uint8Array<ArrayBuffer>;
  /** Places of a signature. */
  const placesOf = (bytes: Uint8Array, signature: number): readonly number[] => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Array.from({ length: bytes.length - 4 }, (_, i) => i).filter((i) => view.getUint32(i, true) === signature);
  };
  const directory = 0x02014b50;
  const end = 0x06054b50;
  const changed = (change: (view: DataView, entries: readonly number[], end: number) => void): Uint8Array => {
    const bytes = zip();
    change(new DataView(bytes.buffer), placesOf(bytes, directory), placesOf(bytes, end)[0]!);
    return bytes;
  };

  it.each<[string, Uint8Array, RegExp]>([
    [
      "declares four gigabytes",
      changed((view, [, weights]) => view.setUint32(weights! + 24, 2 ** 32 - 2, true)),
      /cannot contain the declared 4294967294/,
    ],
    [
      "declares one byte less",
      changed((view, [, weights]) => view.setUint32(weights! + 24, 4999, true)),
      /more than the declared 4999 bytes/,
    ],
    [
      "declares one byte more",
      changed((view, [, weights]) => view.setUint32(weights! + 24, 5001, true)),
      /unpacks to 5000 bytes, not to the declared 5001/,
    ],
    [
      "has another checksum",
      changed((view, [, weights]) => view.setUint32(weights! + 16, 1, true)),
      /the checksum differs/,
    ],
    [
      "has files that overlap",
      changed((view, [, weights]) => view.setUint32(weights! + 20, 1, true)),
      /unpack|damaged|overlap/,
    ],
    [
      "has a file longer than itself",
      changed((view, [, weights]) => view.setUint32(weights! + 20, 2 ** 30, true)),
      /longer than the archive/,
    ],
    [
      "has a file elsewhere",
      changed((view, [, weights]) => view.setUint32(weights! + 42, 2 ** 30, true)),
      /is missing at the place that the directory gives/,
    ],
    [
      "has one file under two names",
      changed((view, [, weights]) => view.setUint32(weights! + 42, 0, true)),
      /differs from the directory/,
    ],
    ["is encrypted", changed((view, [, weights]) => view.setUint16(weights! + 8, 1, true)), /is encrypted/],
    [
      "has fewer files than it says",
      changed((view, _entries, at) => view.setUint16(at + 10, 60000, true)),
      /directory is damaged/,
    ],
    [
      "has a directory elsewhere",
      changed((view, _entries, at) => view.setUint32(at + 16, 2 ** 31, true)),
      /directory is damaged/,
    ],
    ["has no directory", zip().slice(0, -30), /no directory/],
    ["is empty", new Uint8Array([0x50, 0x4b]), /no directory/],
  ])("that %s is refused", (_what, bytes, message) => {
    const refusal = refusalOf(() => void readArchiveWeights(bytes));
    expect([refusal?.code, refusal?.message]).toEqual(["KERAS_ARCHIVE", expect.stringMatching(message)]);
  });

  it("with a name twice is refused", () => {
    const bytes = zipSync({ "config.json": config, "config.jsoN": config }) as Uint8Array<ArrayBuffer>;
    const text = Buffer.from(bytes.buffer);
    for (let at = text.indexOf("jsoN"); at >= 0; at = text.indexOf("jsoN")) text.write("json", at);
    expect(() => readArchive(bytes)).toThrow(/contains "config\.json" twice/);
  });

  it("changed anywhere is read as it was, or refused by a RematError", () => {
    const whole = zip();
    fc.assert(
      fc.property(
        fc.array(fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) }), { minLength: 1, maxLength: 5 }),
        fc.option(fc.nat(whole.length)),
        (changes, length) => {
          const bytes = whole.slice(0, length ?? undefined);
          for (const { at, to } of changes) if (at < bytes.length) bytes[at] = to;
          if (refusalOf(() => void readArchive(bytes)) === undefined)
            expect(readArchive(bytes)).toBe(new TextDecoder().decode(config));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
