import { Category, TraceBuilder } from "@remat/trace";
import { expect, it } from "vitest";
import { peakMoment } from "../../src/index.js";

it("names weights by the innermost module that owns them, though the modules around it do, too", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const tensor = (bytes: number, category: number) =>
    b.tensor({ storage: b.allocate(bytes, "cpu", category), dtype: "float32", shape: [bytes / 4] });
  const [kernel, bias, mean, loose, made] = [
    tensor(400, Category.parameter),
    tensor(40, Category.parameter),
    tensor(80, Category.buffer),
    tensor(4000, Category.input),
    tensor(8, Category.activation),
  ];
  const module = (fqn: string) => b.module({ fqn, kind: "Layer", leaf: false });
  const [net, dense, norm] = ["net", "net.dense", "net.norm"].map(module);
  b.moduleWeights(dense, [kernel, bias], []);
  b.moduleWeights(net, [kernel, bias], [mean]);
  b.moduleWeights(norm, [], [mean]);
  b.op({ name: "MatMul", inputs: [kernel, loose], outputs: [made] });
  expect(peakMoment(b.build()).largest.map(({ bytes, owner, maker }) => [bytes, owner, maker?.opName])).toEqual([
    [4000, undefined, undefined],
    [400, "net.dense", undefined],
    [80, "net.norm", undefined],
    [40, "net.dense", undefined],
    [8, undefined, "MatMul"],
  ]);
});
