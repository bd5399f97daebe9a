#!/usr/bin/env node
// Checks figures of every recorded step in the repository, and of steps of examples, by rules that hold for any step:
// no op is faster than its device, parts add up, and no table has only zeros next to a figure that is not zero.
// `pnpm check:truth` prints a line for each step, with the figures that cannot be true below it. Exits with 1 if there
// are any.
import { fileURLToPath } from "node:url";
import { loadSources } from "@remat/testkit/load-sources";

const { module, close } = await loadSources(fileURLToPath(new URL("src/check-truth.ts", import.meta.url)));
let count = 0;
for await (const { name, untruths } of module.checkTruth()) {
  count++;
  console.log(`${untruths.length === 0 ? "ok     " : "not ok "} ${name}`);
  for (const text of untruths.slice(0, 10)) console.log(`        ${text}`);
  if (untruths.length > 10) console.log(`        and ${untruths.length - 10} more`);
  if (untruths.length > 0) process.exitCode = 1;
}
if (count === 0) process.exitCode = 1;
await close();
