import fc from "fast-check";
import { expect, test } from "vitest";
import { ByRecentId } from "../src/by-recent-id.js";

/** Ids count up, now and then by more than there is room for; some are deleted, some come again. */
const acts = fc.array(
  fc.oneof(
    {
      arbitrary: fc.record({ act: fc.constant("make" as const), step: fc.constantFrom(1, 1, 1, 2, 900, 5000) }),
      weight: 4,
    },
    {
      arbitrary: fc.record({ act: fc.constantFrom("delete" as const, "again" as const), back: fc.nat(40) }),
      weight: 4,
    },
    { arbitrary: fc.constant({ act: "drain" as const }), weight: 1 },
  ),
  { maxLength: 200 },
);

test("lookups and drained values are those of a Map", () => {
  fc.assert(
    fc.property(acts, (done) => {
      const ours = new ByRecentId<string>();
      const map = new Map<number, string>();
      const ids = [7];
      for (const each of done) {
        if (each.act === "make") ids.push(ids.at(-1)! + each.step);
        const id =
          each.act === "make" ? ids.at(-1)! : "back" in each ? ids[Math.max(0, ids.length - 1 - each.back)] : 0;
        if (each.act === "drain") {
          const drained: string[] = [];
          ours.drain((value) => drained.push(value));
          expect(drained.toSorted()).toEqual([...map.values()].toSorted());
          map.clear();
        } else if (each.act === "delete") {
          ours.delete(id);
          map.delete(id);
        } else {
          ours.set(id, `${id} ${map.size}`);
          map.set(id, `${id} ${map.size}`);
        }
        for (const known of ids) expect(ours.get(known)).toBe(map.get(known));
      }
    }),
  );
});
