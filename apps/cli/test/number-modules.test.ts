import "@tensorflow/tfjs-backend-cpu";
import { traceFakeStep } from "@remat/tracer";
import type { SymbolicTensor } from "@tensorflow/tfjs-layers";
import * as tfl from "@tensorflow/tfjs-layers";
import { expect, it } from "vitest";
import { withModulesNumbered } from "../src/number-modules.js";

function net(): tfl.LayersModel {
  const x = tfl.input({ shape: [8, 8, 1] });
  const convolved = tfl.layers.conv2d({ filters: 2, kernelSize: 3 }).apply(x);
  const pooled = tfl.layers.maxPooling2d({ poolSize: 2, name: "pool7" }).apply(convolved);
  const dense = tfl.layers.dense({ units: 3 });
  const y = tfl.layers.dense({ units: 1 }).apply(dense.apply(tfl.layers.flatten().apply(pooled)));
  return tfl.model({ inputs: x, outputs: y as SymbolicTensor });
}

it("numbers what nobody has named the same, however many models a process has built, and leaves names alone", async () => {
  const traced = async () => withModulesNumbered(await traceFakeStep(net(), { name: "net", backend: "cpu", batch: 2 }));
  const [first, second] = [await traced(), await traced()];
  const names = ({ modules, header }: typeof first) => [header.model ?? "", ...modules.map(({ fqn }) => fqn)];
  expect(names(second)).toEqual(names(first));
  expect(names(first)).toContain("model1.conv2d_Conv2D1-flatten_Flatten1");
  const layers = names(first).flatMap((name) =>
    name.includes("-") && name.split(".").length < 3 ? [] : [name.split(".").at(-1)!],
  );
  expect(layers.slice(2)).toEqual(["conv2d_Conv2D1", "pool7", "flatten_Flatten1", "dense_Dense1", "dense_Dense2"]);
});
