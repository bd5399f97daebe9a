import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { processLives } from "@remat/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleForNode } from "./bundle-for-node.js";

const folder = mkdtempSync(join(tmpdir(), "remat-orphans-"));
const source = (name: string) => JSON.stringify(fileURLToPath(new URL(`../src/run/${name}.ts`, import.meta.url)));
/** A process that asks another one to do something, with remat's own means. */
beforeAll(async () => {
  writeFileSync(
    join(folder, "child.ts"),
    `import { serveJob } from ${source("serve-job")};
     serveJob<string, void>(async (what, tell) => {
       tell(String(process.pid));
       if (what === "blocked") for (;;);
       await new Promise((resolve) => setTimeout(resolve, 3_600_000));
     });`,
  );
  writeFileSync(
    join(folder, "parent.ts"),
    `import { askProcess } from ${source("ask-process")};
     import { writeFileSync } from "node:fs";
     const [child, what] = process.argv.slice(2);
     await askProcess(child, what as never, { onProgress: (pid) => console.log(pid) });`,
  );
  await bundleForNode({
    entryPoints: [join(folder, "child.ts"), join(folder, "parent.ts")],
    outdir: folder,
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ["SIGTERM", "waiting"],
  ["SIGINT", "waiting"],
  ["SIGHUP", "waiting"],
  ["SIGKILL", "waiting"],
  ["SIGTERM", "blocked"],
  ["SIGKILL", "blocked"],
] as const)("after %s a process that is %s ends with the one that asked it", async (signal, what) => {
  const parent = spawn(process.execPath, [join(folder, "parent.mjs"), join(folder, "child.mjs"), what], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pid = await new Promise<number>((resolve) => {
    parent.stdout.setEncoding("utf8").once("data", (text: string) => resolve(Number(text)));
  });
  expect(processLives(pid)).toBe(true);
  parent.kill(signal);
  while (processLives(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
});
