import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sampledCases } from "@remat/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleCommand } from "./bundle-command.js";
import { twoLayers } from "./fixtures/two-layers.js";

const folder = mkdtempSync(join(tmpdir(), "remat-readers-"));
const file = (name: string): string => join(folder, name);
let script: string;
let bundled: string;

beforeAll(async () => {
  ({ script, folder: bundled } = await bundleCommand("readers"));
  writeFileSync(file("model.json"), JSON.stringify(twoLayers("softmax")));
  writeFileSync(file("graph.json"), JSON.stringify(uShapedGraph(40)));
  writeFileSync(file("ends.mjs"), "export default () => process.exit(5);\n");
});
afterAll(() => {
  for (const each of [folder, bundled]) rmSync(each, { recursive: true });
});

/** A chain whose second half reads the first half backwards, as a backward pass does: hard to plan within the least memory. */
function uShapedGraph(depth: number): unknown {
  const nodes = Array.from({ length: 2 * depth }, (_, i) => ({
    name: `n${i}`,
    bytes: 1000 + ((37 * i) % 11),
    cost: 1,
  }));
  const chain = nodes.slice(1).map((_, i) => [i, i + 1]);
  const across = Array.from({ length: depth - 1 }, (_, i) => [i, 2 * depth - 1 - i]);
  return { schema: "rematerialization-graph/1", name: "u", nodes, edges: [...chain, ...across] };
}

/** Each exit code of the command, by a way to get it. */
const commands: readonly (readonly [code: number, ...args: string[]])[] = [
  [0, "memory", "model.json"],
  [0, "--help"],
  [1, "plan", "graph.json", "--budget", "1B"],
  [1, "memory", "none.json"],
  [2, "memory", "model.json", "--top", "-1"],
  [3, "plan", "graph.json", "--budget", "5000B", "--iterations", "1"],
  [5, "memory", "ends.mjs"],
];

/** Possible fates of a command's output, as shell code. `"$@"` is the command, `$0` the file for its exit code. */
const endings: readonly (readonly [name: string, shell: string])[] = [
  ["nobody reads either stream", '{ "$@" 2>&1; echo $? > "$0"; } | true'],
  ["nobody reads standard error", '{ "$@" 2>&1 >/dev/null; echo $? > "$0"; } | true'],
  ["nobody reads standard output", '{ "$@" 2>/dev/null; echo $? > "$0"; } | true'],
  ["a reader takes one line", '{ "$@" 2>&1; echo $? > "$0"; } | head -1 > /dev/null'],
  ["standard error is full", '"$@" 2>/dev/full >/dev/null; echo $? > "$0"'],
  ["both streams are closed", '"$@" >&- 2>&-; echo $? > "$0"'],
];

describe("exit codes", () => {
  it.each(endings.map((ending, i) => [...ending, i] as const))("stay the same if %s", async (_name, shell, offset) => {
    const tried = sampledCases(commands, 2, offset);
    const found = await Promise.all(
      tried.map(async ([, ...args], i) => {
        const codeFile = file(`code-${i}`);
        rmSync(codeFile, { force: true });
        const run = spawn("sh", ["-c", shell, codeFile, process.execPath, script, ...args], {
          cwd: folder,
          stdio: "ignore",
        });
        await once(run, "close");
        return [Number(readFileSync(codeFile, "utf8")), ...args];
      }),
    );
    expect(found).toEqual(tried);
  });
});
