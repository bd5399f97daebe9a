import fc from "fast-check";
import { expect, test } from "vitest";
import { Random } from "../../src/schedule/random.js";
import { SequenceBlocks } from "../../src/schedule/sequence-blocks.js";

const instances = 600;
const budgetBytes = 50;

function listOf(blocks: SequenceBlocks): number[] {
  const list: number[] = [];
  for (let x = blocks.next(-1); x >= 0; x = blocks.next(x)) list.push(x);
  return list;
}

test("a sequence in blocks is the list that it stands for, whatever comes and goes", () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const random = new Random(seed);
      const list = Array.from({ length: 40 }, (_, i) => i);
      const memory = new Map(list.map((x) => [x, random.below(40)]));
      const blocks = new SequenceBlocks(instances, 100);
      blocks.fill(
        Int32Array.from(list),
        Float64Array.from(list, (x) => memory.get(x)!),
        budgetBytes,
      );
      const free = Array.from({ length: instances - 40 }, (_, i) => 40 + i);
      for (let i = 0; i < 1500; i++) {
        const at = random.below(list.length);
        // Grows to begin with, and shrinks towards the end.
        const share = i < 800 ? 0.6 : 0.25;
        if (random.next() < 0.3) {
          const to = at + random.below(list.length - at);
          const delta = random.below(21) - 10;
          blocks.addAfter(list[at], list[to], delta);
          for (let k = at + 1; k <= to; k++) memory.set(list[k], memory.get(list[k])! + delta);
        } else if (random.next() < share && free.length > 0) {
          const x = free.pop()!;
          memory.set(x, random.below(80));
          blocks.insert(x, list[at], memory.get(x)!);
          list.splice(at, 0, x);
        } else if (list.length > 2) {
          blocks.remove(list[at]);
          free.push(...list.splice(at, 1));
        }
        if (i % 50 !== 0) continue;
        const aim = random.below(100);
        blocks.aimFor(aim);
        expect(blocks.overflow > 0).toBe(Math.max(...list.map((x) => memory.get(x)!)) > aim);
        blocks.aimFor(budgetBytes);
        expect(listOf(blocks)).toEqual(list);
        expect(list.map((x) => blocks.memoryAt(x))).toEqual(list.map((x) => memory.get(x)));
        const most = Math.max(...list.map((x) => memory.get(x)!));
        expect(blocks.peakBytes).toBe(most);
        expect(blocks.overflow > 0).toBe(most > budgetBytes);
        expect(blocks.overflow).toBeGreaterThanOrEqual(Math.max(0, most - budgetBytes));
        expect(list.slice(1).every((x, k) => blocks.keyOf(x) > blocks.keyOf(list[k]))).toBe(true);
        expect(list.slice(1).map((x) => blocks.previous(x))).toEqual(list.slice(0, -1));
        const over = blocks.pickOverBudget(random.next());
        expect(over < 0 ? most : memory.get(over)!).toSatisfy((bytes: number) => bytes > budgetBytes === over >= 0);
        // Blocks that run empty are joined, or every change would have to pass them.
        expect(blocks.blockCount).toBeLessThanOrEqual(2 + list.length / 2);
      }
    }),
    { numRuns: 40 },
  );
});
