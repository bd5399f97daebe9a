import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { processLives } from "@remat/testkit";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeProgramFolder } from "../src/program-folder.js";
import { agentFromSources } from "./run-program-under.js";

const folder = mkdtempSync(join(tmpdir(), "remat-program-orphans-"));
const runner = join(folder, "runner.mjs");
beforeAll(async () => {
  const source = fileURLToPath(new URL("../src/run-program.ts", import.meta.url));
  await build({
    stdin: {
      contents: `import { runProgram } from ${JSON.stringify(source)};
        const [agentFolder, ...command] = process.argv.slice(2);
        await runProgram({ command, order: { kind: "exec", budget: "1GB" }, agentFolder }, () => {});`,
      resolveDir: folder,
    },
    outfile: runner,
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["@remat/source"],
    external: ["@tensorflow/*"],
    logLevel: "error",
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
};

const tell = "require('node:fs').appendFileSync(process.env.PIDS, process.pid + '\\n');";
const busy = `${tell} for (;;);`;

test.each([
  ["that computes", ["node", "-e", busy]],
  [
    "that does not heed SIGTERM",
    ["node", "-e", `process.on("SIGTERM", () => {}); ${tell} setInterval(() => {}, 1000);`],
  ],
  ["that another process has started", ["sh", "-c", `node -e "${busy}"; exit 1`]],
])("after SIGKILL a program %s ends with what ran it, and leaves nothing behind", async (_what, command) => {
  const temporary = mkdtempSync(join(folder, "tmp-"));
  const pids = join(temporary, "pids");
  const parent = spawn(process.execPath, [runner, await agentFromSources(), ...command], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, TMPDIR: temporary, PIDS: pids },
  });
  const pidOf = () => Number(existsSync(pids) ? readFileSync(pids, "utf8") : 0);
  await until(() => pidOf() > 0);
  expect(readdirSync(temporary).filter((name) => name.startsWith("remat-program-"))).toHaveLength(1);
  parent.kill("SIGKILL");
  await until(() => !processLives(pidOf()));
  await until(() => readdirSync(temporary).every((name) => !name.startsWith("remat-program-")));
});

test("remains of a dead process are removed, and files of others stay", () => {
  const parent = join(folder, "shared");
  mkdirSync(parent);
  const mine = makeProgramFolder(parent);
  const [, namespace] = /remat-program-(\d+)-/.exec(mine)!;
  // No process has so high an id.
  const left = join(parent, `remat-program-${namespace}-999999999-abcdef`);
  const elsewhere = join(parent, "remat-program-1-999999999-abcdef");
  for (const each of [left, elsewhere]) mkdirSync(each);
  writeFileSync(join(left, "report.json"), "{}");
  const next = makeProgramFolder(parent);
  expect([mine, next, elsewhere, left].map((each) => existsSync(each))).toEqual([true, true, true, false]);
});
