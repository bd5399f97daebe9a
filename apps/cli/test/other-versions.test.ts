import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-versions-"));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  writeFileSync(at("model.json"), JSON.stringify(twoLayers("softmax")));
  await remat("memory", at("model.json"), "--trace", at("run.remat.jsonl"));
  await remat("plan", at("model.json"), "--budget", "100%", "--iterations", "1", "-o", at("plan.json"));
  const changed = (from: string, to: string, ...[what, by]: [RegExp, string]) => {
    const text = readFileSync(at(from), "utf8");
    expect(text).toMatch(what);
    writeFileSync(at(to), text.replace(what, by));
  };
  changed("run.remat.jsonl", "later.remat.jsonl", /"version":\d+/, '"version":99');
  changed("plan.json", "later-plan.json", /remat-plan\/\d+/, "remat-plan/99");
  writeFileSync(
    at("graph.json"),
    JSON.stringify({ schema: "rematerialization-graph/99", name: "g", nodes: [], edges: [] }),
  );
  writeFileSync(at("events.json"), JSON.stringify({ schema: "sac-oracle/99", ops: [] }));
});

/** Each file of another version is rejected in one line that names the file and its version. */
describe.each([
  ["later.remat.jsonl", ["memory", "estimate", "plan --budget 90%", "ui --once"], /trace format version 99.*reads \d/],
  [
    "later-plan.json",
    ["report -o r.html"],
    /expected format 'remat-plan\/2' or 'remat-plan\/3', found "remat-plan\/99"/,
  ],
  ["graph.json", ["plan --budget 90%"], /schema 'rematerialization-graph\/1', found "rematerialization-graph\/99"/],
  ["events.json", ["memory", "estimate"], /sac-oracle\/99/],
])("%s of a later version", (file, commands, message) => {
  it.each(commands)("is refused by what it is: remat %s", async (command) => {
    const [name, ...options] = command.split(" ");
    const { code, stdout, stderr } = await remat(name, at(file), ...options);
    expect(stderr).toMatch(message);
    expect(stderr).toContain(file);
    expect({ code, stdout, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: 1, stdout: "", lines: 1 });
  });
});
