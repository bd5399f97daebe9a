import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { goldensFolder } from "@remat/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkGoldens, comparisons } from "../src/index.js";

async function list<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("every golden of the folder agrees", async () => {
  const checked = await list(checkGoldens({ folder: goldensFolder, comparisons }));
  expect(checked.filter(({ difference }) => difference !== undefined)).toEqual([]);
  expect(checked.length).toBeGreaterThan(0);
});

describe("a folder", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "goldens-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (name: string, content: object | string) =>
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  const known = {
    "a/1": [() => undefined, (golden: { schema: string }) => (golden as unknown as { wrong?: string }).wrong],
    "list/1": [() => ["first", "second"]],
    "later/1": [async () => undefined, async () => "at last"],
    "rejects/1": [() => Promise.reject(new Error("no"))],
    "raises/1": [
      () => {
        throw new Error("boo");
      },
    ],
    "none/1": [],
  };
  const check = async (words?: string[]) => {
    const checked = await list(checkGoldens({ folder, comparisons: known, ...(words && { words }) }));
    return Object.fromEntries(checked.map(({ name, difference }) => [name, difference]));
  };

  test("gets a line for each file, with the first difference", async () => {
    write("agrees.json", { schema: "a/1" });
    write("differs.json", { schema: "a/1", wrong: "memory 1, ours 2" });
    write("list.json", { schema: "list/1" });
    write("later.json", { schema: "later/1" });
    writeFileSync(join(folder, "packed.json.gz"), gzipSync(JSON.stringify({ schema: "a/1" })));
    expect(await check()).toEqual({ agrees: undefined, differs: "memory 1, ours 2", list: "first", later: "at last", packed: undefined });
  });

  test("has three outcomes: a difference is never better, and says why", async () => {
    write("a.json", { schema: "a/1" });
    write("b.json", { schema: "a/1", nearer: "1 of 2 fits" });
    write("c.json", { schema: "a/1", nearer: "1 of 2 fits", wrong: "memory 1, ours 2" });
    const advantages = { "a/1": [(golden: { schema: string }) => (golden as unknown as { nearer?: string }).nearer] };
    const none = undefined;
    expect(await list(checkGoldens({ folder, comparisons: known, advantages }))).toEqual([
      { name: "a", outcome: "agrees", difference: none, advantage: none },
      { name: "b", outcome: "better", difference: none, advantage: "1 of 2 fits" },
      { name: "c", outcome: "differs", difference: "memory 1, ours 2", advantage: none },
    ]);
  });

  test("with a schema that nothing compares fails", async () => {
    write("new.json", { schema: "new/1" });
    write("none.json", { schema: "none/1" });
    write("no-schema.json", {});
    write("prototype.json", { schema: "constructor" });
    expect(await check()).toEqual({
      new: 'schema "new/1": no comparison knows it',
      none: 'schema "none/1": no comparison knows it',
      "no-schema": "schema undefined: no comparison knows it",
      prototype: 'schema "constructor": no comparison knows it',
    });
  });

  test("with a file that cannot be read or compared fails there and goes on", async () => {
    write("a.json", "{");
    write("b.json", { schema: "raises/1" });
    write("c.json", { schema: "a/1" });
    write("d.json", { schema: "rejects/1" });
    expect(await check()).toEqual({
      a: expect.stringMatching(/^raised SyntaxError/),
      b: "raised Error: boo",
      c: undefined,
      d: "raised Error: no",
    });
  });

  test("can be narrowed to some names", async () => {
    write("sac_a.json", { schema: "a/1" });
    write("mem_a.json", { schema: "a/1" });
    expect(Object.keys(await check(["mem"]))).toEqual(["mem_a"]);
  });
});
