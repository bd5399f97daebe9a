import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

export async function startRedis(folder) {
  const port = await freePort();
  const process = spawn(
    "redis-server",
    ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
    {
      stdio: "ignore",
    },
  );
  let missing;
  process.once("error", (error) => (missing = error));
  const ask = (...command) => spawnSync("redis-cli", ["-p", String(port), ...command], { encoding: "utf8" }).stdout;
  for (let tried = 0; missing === undefined && tried < 100; tried++) {
    if (ask("ping")?.trim() === "PONG")
      return { url: `redis://127.0.0.1:${port}`, empty: () => ask("flushall"), stop: () => process.kill("SIGKILL") };
    await wait(100);
  }
  throw new Error("no redis-server can be started here: apt-get install redis-server", { cause: missing });
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
