import { Phase, TraceBuilder } from "@remat/trace";
import { expect, test } from "vitest";
import { fitLaunchFactors } from "../../src/calibrate/fit-launch-factors.js";

test("the factor of a phase is its time over the launch costs of its kernels", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const tensor = b.tensor({ storage: b.allocate(8), dtype: "float32", shape: [2] });
  const op = (name: string, phase: number, us: number) =>
    b.op({ name, phase, inputs: [tensor], outputs: [tensor], runtimeMs: us / 1e3 });
  op("Relu", Phase.forward, 30);
  op("Exp", Phase.forward, 10);
  op("Relu", Phase.backward, 40);
  op("Relu", Phase.optimizer, 10);
  op("NoSuchKernel", Phase.optimizer, 1e6);
  const speed = (launchUs: number) => ({ launchUs, error: 0, calls: 3 });
  const factors = fitLaunchFactors(b.build(), { Relu: speed(20), Exp: speed(5) });
  expect(Object.keys(factors)).toEqual(["forward", "backward", "optimizer", "recompute"]);
  const expected = { forward: 40 / 25, backward: 2, optimizer: 0.5, recompute: 2 };
  for (const [phase, factor] of Object.entries(expected)) expect(factors[phase as "forward"]).toBeCloseTo(factor, 12);
});
