import { readPyTorchTrace } from "@remat/pytorch";
import { goldensOf } from "@remat/testkit";
import { expect, test } from "vitest";
import { moduleOrders } from "../src/index.js";
import type { RtResults } from "./compare-rt-golden.js";

/**
 * The runtime goldens identify running modules only by their ops, so adjacent calls look like one. Some memory goldens
 * are runs of the same models over several steps, and have the calls.
 */
const pairs = goldensOf("rt-oracle/1").flatMap(({ file, golden }) => {
  const name = `${file.name.replace(/^rt_/, "mem_")}_adam`;
  const run = goldensOf("mem-oracle/1").find((other) => other.file.name === name);
  return run === undefined ? [] : [{ name: file.name, results: golden["results"] as RtResults, run: run.golden }];
});

test("in the project's own copy runtime goldens have memory goldens of the same model", () => {
  expect(pairs.length > 0 || process.env["REMAT_GOLDENS"] !== undefined).toBe(true);
});

test.each(pairs)("execution orders of $name are PyTorch's", ({ results, run }) => {
  const orders = moduleOrders(readPyTorchTrace(run));
  const { mod_fw_pre_order, mod_fw_post_order, mod_bw_pre_order, mod_bw_post_order } = results;
  expect({
    forwardPre: orders.modFwPreOrder.slice(0, mod_fw_pre_order.length),
    forwardPost: orders.modFwPostOrder.slice(0, mod_fw_post_order.length),
    backwardPre: orders.modBwPreOrder.slice(0, mod_bw_pre_order.length),
    backwardPost: orders.modBwPostOrder.slice(0, mod_bw_post_order.length),
  }).toEqual({
    forwardPre: mod_fw_pre_order,
    forwardPost: mod_fw_post_order,
    backwardPre: mod_bw_pre_order,
    backwardPost: mod_bw_post_order,
  });
});
