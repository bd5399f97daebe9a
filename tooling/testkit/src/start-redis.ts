import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { requireTool } from "./require-tool.js";

/** Returns whether a Redis server can be started: one on the PATH, or Debian's. */
export function hasRedis(): boolean {
  return (
    requireTool({
      name: "REDIS",
      find: () => (answers() ? true : undefined),
      packages: ["redis-server"],
      withoutIt: "what a fleet does is not tested",
      nextStep: "Install a server: apt-get install redis-server",
    }) ?? false
  );
}

/** A private Redis server that can be killed and restarted. */
export class RedisServer {
  readonly port: number;
  readonly url: string;
  private readonly folder: string;
  private server: ChildProcess | undefined;

  private constructor(port: number, folder: string) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.folder = folder;
  }

  /** Starts a server that writes every change to `folder`. */
  static async start(folder: string): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), folder);
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    const options = ["--port", `${this.port}`, "--bind", "127.0.0.1", "--dir", this.folder, "--save", ""];
    this.server = spawn("redis-server", [...options, "--appendonly", "yes", "--appendfsync", "always"], {
      stdio: "ignore",
    });
    for (let tried = 0; tried < 200; tried++) {
      if (this.ask("ping") === "PONG") return;
      await wait(50);
    }
    throw new Error("redis-server does not answer.");
  }

  /** Ends it like a power failure. */
  async kill(): Promise<void> {
    const server = this.server;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGKILL");
    await ended;
  }

  /** Sends a command, and returns its output. */
  ask(...command: readonly string[]): string {
    return spawnSync("redis-cli", ["-p", `${this.port}`, ...command], { encoding: "utf8" }).stdout.trim();
  }
}

function answers(): boolean {
  return ["redis-server", "redis-cli"].every(
    (name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0,
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
