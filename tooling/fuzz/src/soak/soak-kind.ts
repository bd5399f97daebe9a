import * as tf from "@tensorflow/tfjs";
import type { FuzzerKind } from "../campaign.js";
import { titleOf } from "../test-text.js";
import { describeGrowth, type MemoryReading } from "./describe-growth.js";
import { soakRounds } from "./soak-rounds.js";

/** Share of the time for loading and compiling everything. */
const warmUp = 0.4;
const fewestRounds = 5;

/** Estimating, planning, reporting, opening and closing modes in one process, which must not grow. */
export const soakKind: FuzzerKind = {
  title: "rounds of everything in one process",
  backends: ["cpu"],
  share: 2,
  run: async (campaign) => {
    const round = await soakRounds();
    const readings: MemoryReading[] = [];
    const began = performance.now();
    for (let i = 0; !campaign.isOver || readings.length < fewestRounds; i++) {
      campaign.trying(`round ${i}`);
      await round();
      if (i < fewestRounds || performance.now() - began < warmUp * campaign.ms) continue;
      readings.push(read());
    }
    const growth = describeGrowth(readings);
    if (growth === undefined) return;
    campaign.found({ what: growth, seed: campaign.seed, test: `test(${titleOf(growth)}, soak);` });
  },
};

function read(): MemoryReading {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { heapUsed, rss, external } = process.memoryUsage();
  return {
    heapBytes: heapUsed + external,
    residentBytes: rss,
    tensors: tf.memory().numTensors,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  };
}
