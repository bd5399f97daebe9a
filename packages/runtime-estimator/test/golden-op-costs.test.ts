import { type Golden, goldenFiles, readGolden } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { opCost, rooflineMs } from "../src/index.js";
import { goldenDevice, goldenOpCall } from "./golden-op-calls.js";

/** Op events that carry upstream's answers: everything but the op that upstream raised on. */
// biome-ignore lint/suspicious/noExplicitAny: events of a golden file
const pricedEvents = (golden: Golden): any[] =>
  // biome-ignore lint/suspicious/noExplicitAny: events of a golden file
  (golden["events"] ?? []).filter((event: any) => event.e === "op" && event.t !== undefined);

/** What upstream said an op costs; ops that it ignores have neither bytes nor FLOPs. */
// biome-ignore lint/suspicious/noExplicitAny: an event of a golden file
function expected(event: any) {
  return { flops: event.flops ?? 0, bytesRead: event.rb ?? 0, bytesWritten: event.wb ?? 0, runtimeMs: event.t };
}

// biome-ignore lint/suspicious/noExplicitAny: an event of a golden file
function ours(golden: Golden, event: any) {
  const cost = opCost(goldenOpCall(golden, event), "pytorch");
  const { flops, bytesRead, bytesWritten } = cost;
  return { flops, bytesRead, bytesWritten, runtimeMs: rooflineMs(cost, goldenDevice(golden)) };
}

const goldens = goldenFiles()
  .map((file) => ({ name: file.name, golden: readGolden(file) }))
  .filter(({ golden }) => pricedEvents(golden).length > 0);

describe("the cost of every op that PyTorch priced", () => {
  test.each(goldens)("$name", ({ golden }) => {
    const events = pricedEvents(golden);
    expect(events.map((event) => ours(golden, event))).toEqual(events.map(expected));
  });
});
