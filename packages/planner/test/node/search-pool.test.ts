import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { planningGraph } from "../../src/graph/planning-graph.js";
import { SearchPool } from "../../src/node/search-pool.js";

const folder = mkdtempSync(join(tmpdir(), "remat-pool-"));
const worker = join(folder, "worker.mjs");
/** The fate of a search, by its seed. */
const fates = ["throws", "ends", "hangs", "aborts", "finds"];
beforeAll(() =>
  writeFileSync(
    worker,
    `import { parentPort } from "node:worker_threads";
    parentPort.on("message", ({ id, options }) => {
      const fate = ${JSON.stringify(fates)}[options.seed];
      if (fate === "throws") throw new RangeError("Maximum call stack size exceeded");
      if (fate === "ends") process.exit(1);
      if (fate === "hangs") for (;;);
      if (fate === "aborts") parentPort.postMessage({ id, failure: { message: "Aborted()", code: undefined } });
      if (fate === "finds") parentPort.postMessage({ id, found: options.seed });
      if (fate === undefined) parentPort.postMessage({ id, failure: { message: "a wrong budget", code: "BUDGET" } });
    });`,
  ),
);
afterAll(() => rmSync(folder, { recursive: true }));

const graph = planningGraph([{ name: "n0", cost: 1, outputBytes: [1], inputs: [] }]);
const task = (seed: number) => ({ budgetBytes: 1, timeMs: 1, seed });

test("a search whose thread dies, or does not end in time, has found nothing, and the others' answers count", async () => {
  const pool = new SearchPool(graph, 2, { file: pathToFileURL(worker), graceMs: 6000 });
  try {
    const seeds = [4, 0, 1, 2, 3, 4, 4];
    const expected = seeds.map((seed) => (fates[seed] === "finds" ? seed : undefined));
    expect(await pool.run(seeds.map(task))).toEqual(expected);
    expect(await pool.run([4, 4].map(task))).toEqual([4, 4]);
    await expect(pool.run([4, 5].map(task))).rejects.toMatchObject({ code: "BUDGET", message: "a wrong budget" });
  } finally {
    await pool.close();
  }
});
