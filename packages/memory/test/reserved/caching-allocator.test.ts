import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultAllocatorSettings } from "../../src/reserved/allocator-settings.js";
import { type Block, CachingAllocator, parseAllocatorSettings } from "../../src/reserved/index.js";
import { ReferenceAllocator, type Taken } from "./reference-allocator.js";

const MiB = 2 ** 20;
const segmentStride = 2 ** 43;

const settingsTexts = [
  "default",
  "expandable_segments:True",
  "max_split_size_mb:20",
  "max_split_size_mb:32,roundup_power2_divisions:4",
  "roundup_power2_divisions:[1:8,4:2,16:1,>:4]",
  "large_segment_size_mb:40",
  "expandable_segments:True,roundup_power2_divisions:[256:1,512:2,1024:4,>:8],large_segment_size_mb:32",
];

/** Sizes on both sides of all limits, and many that are asked for again and again, as training does. */
const size = fc.oneof(
  fc.integer({ min: 1, max: 2 ** 27 }),
  fc.integer({ min: 1, max: 3 * MiB }),
  fc.constantFrom(
    1,
    511,
    512,
    513,
    MiB - 1,
    MiB,
    MiB + 1,
    2 * MiB,
    3 * MiB,
    10 * MiB - 1,
    10 * MiB,
    20 * MiB,
    20 * MiB + 1,
    41 * MiB,
  ),
);
const act = fc.record({ bytes: size, stream: fc.integer({ min: 0, max: 1 }), frees: fc.boolean(), which: fc.nat() });

describe("CachingAllocator", () => {
  it("gives the same pieces of the same segments as the published rules, looked up by brute force", () => {
    fc.assert(
      fc.property(fc.constantFrom(...settingsTexts), fc.array(act, { maxLength: 120 }), (text, acts) => {
        const settings = parseAllocatorSettings(text);
        const allocator = new CachingAllocator(settings);
        const reference = new ReferenceAllocator(settings);
        const live: { block: Block; taken: Taken }[] = [];
        let mostReserved = 0;
        for (const { bytes, stream, frees, which } of acts) {
          if (frees && live.length > 0) {
            const [{ block, taken }] = live.splice(which % live.length, 1);
            allocator.free(block);
            reference.give(taken);
          } else {
            const one = { block: allocator.malloc(bytes, stream), taken: reference.take(bytes, stream) };
            expect([one.block.address, one.block.bytes]).toEqual([
              one.taken.segment * segmentStride + one.taken.offset,
              one.taken.bytes,
            ]);
            live.push(one);
          }
          expect([allocator.allocatedBytes, allocator.reservedBytes]).toEqual([
            reference.allocated,
            reference.reserved,
          ]);
          mostReserved = Math.max(mostReserved, reference.reserved);
        }
        expect(allocator.peakReservedBytes).toBe(mostReserved);
        // Allocations do not overlap.
        const spans = live.map(({ block }) => [block.address, block.address + block.bytes]).sort(([a], [b]) => a - b);
        spans.forEach(([start], i) => expect(i === 0 ? 0 : spans[i - 1][1]).toBeLessThanOrEqual(start));
        // After everything is freed, it can be allocated again as a whole.
        for (const { block } of live) allocator.free(block);
        expect([allocator.allocatedBytes, allocator.reservedBytes]).toEqual([0, reference.reserved]);
      }),
      { numRuns: 300 },
    );
  });

  it("reserves what c10 says of single requests", () => {
    const reservedFor = (bytes: number, text = "default"): number[] => {
      const allocator = new CachingAllocator(parseAllocatorSettings(text));
      allocator.malloc(bytes);
      return [allocator.allocatedBytes, allocator.reservedBytes];
    };
    expect(reservedFor(1)).toEqual([512, 2 * MiB]);
    expect(reservedFor(MiB)).toEqual([MiB, 2 * MiB]);
    expect(reservedFor(MiB + 1)).toEqual([MiB + 512, 20 * MiB]);
    // The rest of 12 MiB is too small for a block of its own.
    expect(reservedFor(11.5 * MiB)).toEqual([12 * MiB, 12 * MiB]);
    expect(reservedFor(11.5 * MiB, "expandable_segments:True")).toEqual([11.5 * MiB, 20 * MiB]);
    // 1200 in four steps from 1024 to 2048, in MiB.
    expect(reservedFor(1200 * MiB, "roundup_power2_divisions:4")).toEqual([1280 * MiB, 1280 * MiB]);
  });
});

describe("parseAllocatorSettings", () => {
  it("reads options as PYTORCH_CUDA_ALLOC_CONF has them", () => {
    expect(parseAllocatorSettings("")).toBe(defaultAllocatorSettings);
    expect(
      parseAllocatorSettings(
        "backend:native, max_split_size_mb:64, garbage_collection_threshold:0.8, expandable_segments:True",
      ),
    ).toEqual({ ...defaultAllocatorSettings, maxSplitBytes: 64 * MiB, expandableSegments: true });
    // Before the first entry as that; from the last one on as `>` says.
    expect(parseAllocatorSettings("roundup_power2_divisions:[4:1,8:2,>:8]").roundupPower2Divisions).toEqual([
      1, 1, 1, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
    ]);
  });

  it.each([
    ["max_split_size_mb:19", "a whole number of MiB from 20 up"],
    ["expandable_segments:yes", "True or False"],
    ["roundup_power2_divisions:[256:3]", "powers of two"],
    ["no_such_option:1", "a known option"],
    ["max_split_size_mb", "a known option"],
    ["backend:cudaMallocAsync", "native"],
  ])("refuses %s", (text, expected) => {
    expect(() => parseAllocatorSettings(text)).toThrow(expected);
  });
});
