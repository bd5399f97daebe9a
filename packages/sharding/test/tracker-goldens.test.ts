import { type Golden, goldensOf, sampledCases } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { compareMemoryGolden } from "./compare-golden.js";

type Json = Record<string, unknown>;

describe.each(["mem-oracle/1", "fsdp-oracle/1"])("goldens of %s", (schema) => {
  const goldens = goldensOf(schema).map(({ file, golden }) => [file.name, golden] as const);

  it("are there", () => expect(goldens.length).toBeGreaterThan(0));

  it.each(goldens)("%s agrees in every answer", (_, golden) => {
    expect(compareMemoryGolden(golden)).toEqual([]);
  });

  // Places spread over the file by its name, so that files differ in what is changed.
  describe.each(sampledCases(goldens, 3))("%s notices one changed number", (name, golden) => {
    const place = [...name].reduce((hash, c) => (hash * 31 + c.charCodeAt(0)) >>> 0, 7);
    const kinds: readonly (readonly [string, (changed: Golden) => void])[] = [
      ["in the total after an op", (g) => bump(pick(answersOf(g, "op", "cur"), place)["cur"] as Json, place)],
      [
        "in a mark's snapshot",
        (g) => bumpSnapshot(pick(answersOf(g, "mark", "current"), place)["current"] as Json, place),
      ],
      ["in a mark's peak", (g) => bumpSnapshot(pick(answersOf(g, "mark", "peak"), place)["peak"] as Json, place)],
      ["in the size of what is freed", (g) => bump(pick(answersOf(g, "del", "m"), place), place, "m")],
      ["in a module's snapshot", (g) => bumpSnapshot(pick(snapshotsOf(g), place) as Json, place)],
      ["in a module's local peak", (g) => bump(pick(g["results"].stats as Json[], place)["local_peak"] as Json, place)],
      ["in a text", (g) => changeDigit(g["results"].text as Json, place)],
    ];
    // Two kinds a file, so that the files together have each kind many times.
    const changes = kinds.filter((_, kind) => kind % 4 === place % 4);

    it.each(changes)("%s", (_, change) => {
      const changed = structuredClone(golden) as Golden;
      change(changed);
      expect(compareMemoryGolden(changed)).toHaveLength(1);
    });

    it("in the size of a storage", () => {
      const changed = structuredClone(golden) as Golden;
      const { storages } = changed as unknown as { storages: { bytes: number }[] };
      const largest = storages.reduce((a, b) => (b.bytes > a.bytes ? b : a));
      largest.bytes += 512;
      expect(compareMemoryGolden(changed)).not.toEqual([]);
    });
  });
});

function pick<T>(items: readonly T[], place: number): T {
  return items[place % items.length];
}

/** Events of a kind that hold an answer, before the results were taken. */
function answersOf(golden: Golden, kind: string, field: string): Json[] {
  const events = golden["events"] as Json[];
  const end = events.findLastIndex((e) => e["e"] === "exit" || e["e"] === "snapshot");
  return events
    .slice(0, end)
    .filter((e) => e["e"] === kind && e[field] !== undefined && Object.keys(e[field] as object).length >= 0);
}

function snapshotsOf(golden: Golden): unknown[] {
  return (golden["results"].stats as { snapshots: Record<string, unknown[]> }[]).flatMap((s) =>
    Object.values(s.snapshots).flat(),
  );
}

function bump(record: Json, place: number, key = pick(Object.keys(record), place)): void {
  record[key] = (record[key] as number) + 1;
}

function bumpSnapshot(snapshot: Json, place: number): void {
  bump(pick(Object.values(snapshot) as Json[], place), place);
}

function changeDigit(texts: Json, place: number): void {
  const name = pick(Object.keys(texts), place);
  const text = texts[name] as string;
  const digits = [...text.matchAll(/\d/g)].map((match) => match.index);
  const at = pick(digits, place);
  texts[name] = `${text.slice(0, at)}${(Number(text[at]) + 1) % 10}${text.slice(at + 1)}`;
}
