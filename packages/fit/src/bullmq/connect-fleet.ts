import { setTimeout as wait } from "node:timers/promises";
import { RematError } from "@remat/trace";
import type * as Bullmq from "bullmq";
import type { Redis } from "ioredis";

/**
 * The time to wait for the first answer of the server. If the server goes away later, there is no limit on the waiting
 * time.
 */
const firstWaitMs = 10_000;

/** The BullMQ module and a connection to a server. */
export interface FleetConnection {
  readonly bullmq: typeof Bullmq;
  readonly client: Redis;
}

/**
 * Connects to a server of Redis or Valkey.
 *
 * @throws RematError `FIT_FLEET` if BullMQ is not installed, the address is invalid, or no server answers
 * @internal
 */
export async function connectFleet(url: string): Promise<FleetConnection> {
  const address = parseAddress(url);
  const { bullmq, Client } = await loadBullmq();
  // A command waits for a server that restarts, however long that takes.
  const client = new Client(address, {
    maxRetriesPerRequest: null,
    retryStrategy: (times) => Math.min(100 * times, 2000),
  });
  let last: Error | undefined;
  client.on("error", (error: Error) => (last = error));
  const answer = await Promise.race([
    client.ping().catch((error: Error) => error),
    wait(firstWaitMs, undefined, { ref: false }),
  ]);
  if (answer === "PONG") return { bullmq, client };
  client.disconnect();
  const why = answer instanceof Error ? answer : last;
  throw new RematError(
    "FIT_FLEET",
    `${hidePassword(address)}: no Redis or Valkey server answers${why === undefined ? "" : ` (${why.message})`}. Start one, or correct the address.`,
    { cause: why },
  );
}

async function loadBullmq(): Promise<Pick<FleetConnection, "bullmq"> & { readonly Client: typeof Redis }> {
  try {
    const [bullmq, { Redis: Client }] = await Promise.all([import("bullmq"), import("ioredis")]);
    return { bullmq, Client };
  } catch (cause) {
    throw new RematError(
      "FIT_FLEET",
      "a fleet needs BullMQ and a Redis client, which are not installed. Run: npm install bullmq ioredis",
      { cause },
    );
  }
}

/** Returns an address with the scheme of Redis, which Valkey shares. */
function parseAddress(url: string): string {
  const address = url.replace(/^valkey(s?):/, "redis$1:");
  if (URL.canParse(address)) {
    const { protocol, hostname, pathname } = new URL(address);
    if (/^rediss?:$/.test(protocol) && hostname !== "" && /^(\/\d*)?$/.test(pathname)) return address;
  }
  throw new RematError(
    "FIT_FLEET",
    `${JSON.stringify(hidePassword(url))} is not a server's address. Write redis://host:6379, or rediss:// for TLS.`,
  );
}

const hidePassword = (url: string): string => url.replace(/\/\/[^@/]*@/, "//");
