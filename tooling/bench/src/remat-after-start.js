// Imports everything that `remat ARGS` would, then runs it once, as a user does, and writes its time to file descriptor
// 3.
import { writeSync } from "node:fs";
import { runCli } from "../../../apps/cli/dist/cli.js";
import { tuneV8 } from "../../../apps/cli/dist/tune-v8.js";
import { peakResidentMiB, timeOnce } from "./measure.js";

tuneV8();
const args = process.argv.slice(2);
await Promise.all([
  import(`../../../apps/cli/dist/commands/${args[0]}.js`),
  import("@remat/tracer"),
  import(new URL(`../../../${args[1]}`, import.meta.url)),
]);
const { stdout, stderr, env } = process;
const { wallMs, cpuMs, result } = await timeOnce(() => runCli(args, { stdout, stderr, env }));
process.exitCode = result;
writeSync(3, JSON.stringify({ wallMs, cpuMs, residentMiB: peakResidentMiB() }));
