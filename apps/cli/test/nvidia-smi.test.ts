import { describe, expect, it } from "vitest";
import { gpuMemoryBytes, shownGpus } from "../src/nvidia-smi.js";
import { rememberedMachines, thisMachine } from "../src/verdict/this-machine.js";

const h200 = "NVIDIA H200, 143771 MiB\n";
const l4 = "NVIDIA L4, 23034 MiB\n";

describe("GPUs listed by NVIDIA's driver", () => {
  it("is each GPU with its memory", () => {
    expect(shownGpus(() => h200 + l4)).toEqual([
      { name: "NVIDIA H200", memory: "143771 MiB" },
      { name: "NVIDIA L4", memory: "23034 MiB" },
    ]);
  });

  it.each([
    ["no driver", undefined, undefined],
    ["a driver that finds no GPU", "No devices were found\n", undefined],
    ["one that does not tell", "NVIDIA H200, [N/A]\n", undefined],
    ["one GPU", h200, 143_771 * 2 ** 20],
    ["GPUs that are alike", h200 + h200, 143_771 * 2 ** 20],
    ["GPUs that differ", h200 + l4, undefined],
  ])("is the memory that a program has on one: of %s", (_, written, bytes) => {
    expect(gpuMemoryBytes(() => written)).toBe(bytes);
  });
});

describe("the machine that runs steps", () => {
  it("is the machine, whose memory is that of tensors on its CPU alone", () => {
    expect(thisMachine()).toMatchObject({ name: "this machine", memoryBytes: expect.any(Number) });
    expect(thisMachine("webgpu:0")).toEqual({ name: "webgpu:0 of this machine" });
    expect(thisMachine("cuda:0")).toMatchObject({ name: "cuda:0 of this machine" });
    const machines = rememberedMachines();
    expect(machines("cpu")).toBe(machines());
  });
});
