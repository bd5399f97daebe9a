import type { DeviceNetwork } from "@remat/trace";
import { planError } from "./sharding-plan.js";

/** The ranks of a collective, and the distance from each rank to the next. */
export interface RankGroup {
  readonly ranks: number;
  /** 1 for consecutive ranks. */
  readonly stride: number;
}

const names: Readonly<Record<string, keyof DeviceNetwork>> = {
  "per-node": "perNode",
  node: "nodeGBps",
  between: "betweenGBps",
  latency: "latencyUs",
};

/**
 * Returns a network from text such as `per-node=8,node=450,between=50,latency=5`. Rates are in GB/s (1e9 bytes, one
 * direction, per device), latency is in microseconds. Items that are left out come from `known`.
 *
 * @throws RematError `SHARDING_PLAN`
 */
export function parseNetwork(text: string, known?: DeviceNetwork): DeviceNetwork {
  const network: Partial<Record<keyof DeviceNetwork, number>> = { ...known };
  for (const item of text.split(",").map((each) => each.trim())) {
    const [key, value] = item.split("=").map((each) => each.trim());
    const number = /^\d+(\.\d+)?(e-?\d+)?$/.test(value ?? "") ? Number(value) : Number.NaN;
    if (!Object.hasOwn(names, key) || !(number > 0) || (key === "per-node" && !Number.isInteger(number)))
      throw planError(`unknown network setting ${JSON.stringify(item)}. Expected ${expected}.`);
    network[names[key]] = number;
  }
  const missing = Object.keys(names).filter((key) => network[names[key]] === undefined);
  if (missing.length > 0)
    throw planError(`the device's network is unknown, and ${missing.join(", ")} is missing. Expected ${expected}.`);
  return network as DeviceNetwork;
}

const expected =
  "per-node=8,node=450,between=50,latency=5 (devices of a node, GB/s of one device in it and between nodes, microseconds)";

/**
 * Returns the time of a ring all-gather or reduce-scatter in milliseconds. `bytes` is the size of the whole buffer.
 * Each of n ranks sends n − 1 times, each time 1/n of the buffer. The slowest link of the ring determines the time.
 * If the ranks are on several nodes, it is the link between nodes.
 */
export function ringMs(bytes: number, group: RankGroup, network: DeviceNetwork): number {
  const { ranks, stride } = group;
  if (ranks === 1) return 0;
  const isInNode = ranks * stride <= network.perNode;
  const bytesPerMs = (isInNode ? network.nodeGBps : network.betweenGBps) * 1e6;
  return (ranks - 1) * (network.latencyUs / 1000 + bytes / ranks / bytesPerMs);
}
