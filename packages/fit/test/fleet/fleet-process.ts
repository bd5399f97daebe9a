// A worker of a fleet, as a process: the address of the server, how long a lock holds, and the thread's file are its arguments.
import { pathToFileURL } from "node:url";
import { serveFleet } from "../../src/bullmq/index.js";
import { UnitThread } from "../../src/node/index.js";
import { type SweepFiles, sweepKey } from "./sweep.js";

const [url, lockMs, thread] = process.argv.slice(2);
await serveFleet(url, {
  lockMs: Number(lockMs),
  contentKey: (files) => sweepKey(files as SweepFiles),
  answerer: (files) => new UnitThread(pathToFileURL(thread), files),
  onAnswered: () => process.stdout.write("answered\n"),
});
