import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import type { Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { parseShardingPlan, readShardingPlan, simulateFsdp, writeShardingPlan } from "../src/index.js";

/**
 * Four residual blocks in float32, one that multiplies by `torch.cos(…).to(h.dtype)`, and one that adds a mask made
 * with `dtype=h.dtype`, which is not an op if everything is float32. Measured with `MemTracker` of PyTorch 2.13 for
 * each under FSDP2 over four ranks with parameters in bfloat16.
 */
const measured: readonly (readonly [string, number])[] = [
  ["plain", 4_158_984],
  ["cos", 4_159_496],
  ["mask", 4_158_984],
];

describe("casts that the model's code makes, and a run in one dtype does not show", () => {
  it.each(measured)("%s holds in bfloat16 what PyTorch does", (name, peakBytes) => {
    const file = readFileSync(new URL(`./fixtures/bf16-${name}.json.gz`, import.meta.url));
    const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));
    const { trace: rank } = simulateFsdp(trace, parseShardingPlan("world=4,bf16"));
    expect(Math.abs(heldPeak(rank).peakBytes - peakBytes)).toBeLessThanOrEqual(4096);
  });
});

it("says of a run in float32 what its code may cast by itself, and of one in bfloat16 nothing", () => {
  const read = (name: string): Trace =>
    readPyTorchTrace(
      JSON.parse(gunzipSync(readFileSync(new URL(`./fixtures/${name}.json.gz`, import.meta.url))).toString()),
    );
  const notes = (trace: Trace, text: string): string =>
    simulateFsdp(trace, parseShardingPlan(text)).trace.header.notes!.join("\n");
  const wide = notes(read("float32-rms-norm"), "world=4,bf16");
  expect(wide).toContain("Net.norm is assumed to compute in float32");
  expect(wide).toContain("also_in=torch.bfloat16");
  expect(notes(read("float32-rms-norm"), "world=4")).not.toContain("assumed to compute");
  expect(notes(read("bf16-recorded-llama"), "world=4,bf16,stored=float32")).not.toContain("assumed to compute");

  // Two heads of keys for four of queries, and a cross-entropy.
  const fewKeys = read("float32-few-keys");
  const lossMayCast = "The computation of the loss is assumed to take bfloat16";
  expect(notes(fewKeys, "world=4,bf16")).toContain("Net.attention computes attention by matrix products");
  expect(notes(fewKeys, "world=4,bf16")).toContain(lossMayCast);
  expect(notes(fewKeys, "world=4,bf16,own-casts=loss")).not.toContain(lossMayCast);
  expect(notes(fewKeys, "world=4")).not.toMatch(/attention by matrix products|computation of/);
  expect(wide).not.toContain("attention by matrix products");
});

/** Runs in float32, and what PyTorch 2.13 holds of these models under FSDP2 over four ranks with parameters in bfloat16, by `MemTracker`. */
const inFloat32: readonly (readonly [name: string, what: string, plan: string, peakBytes: number])[] = [
  ["torch-rms-norm", "nn.RMSNorm, which PyTorch itself computes in float32", "", 124_042_240],
  ["own-rms-norm", "normalisation that casts by itself", "", 118_635_520],
  ["meta-llama", "softmax, turns and logits that are cast, too", ",own-casts=norm+softmax+loss", 65_645_568],
];

describe("float32 computation among other dtypes", () => {
  it.each(inFloat32)("%s: %s", (name, _, told, peakBytes) => {
    const file = readFileSync(new URL(`./fixtures/float32-${name}.json.gz`, import.meta.url));
    const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));
    const peakOf = (text: string): number => heldPeak(simulateFsdp(trace, parseShardingPlan(text)).trace).peakBytes;
    // Counters of Adam, which the tracker sees on the CPU, are 512 bytes each here.
    expect(Math.abs(peakOf(`world=4,wrap='layers.*',bf16${told}`) - peakBytes)).toBeLessThanOrEqual(30_000);
    // PyTorch's own casts need not be declared; without the declaration the cast tensors would also count.
    const without = peakOf("world=4,wrap='layers.*',bf16,own-casts=");
    if (name === "torch-rms-norm") expect(Math.abs(without - peakBytes)).toBeLessThanOrEqual(30_000);
    else expect(without).toBeLessThan(peakBytes * 0.98);
  });

  it("Gemma of transformers: normalisation whose weight, shifted by one, is cast and multiplied in float32", () => {
    const file = readFileSync(new URL("./fixtures/float32-gemma.json.gz", import.meta.url));
    const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));
    const plan = parseShardingPlan("world=4,wrap='model.layers.*',bf16,own-casts=norm+softmax+loss");
    expect(Math.abs(heldPeak(simulateFsdp(trace, plan).trace).peakBytes - 93_621_248)).toBeLessThanOrEqual(30_000);
  });

  it.each([
    ["world=4,bf16,own-casts=gelu", 'expected own-casts= of norm, softmax, loss, found "gelu"'],
    ["world=4,bf16,own-casts=norm,stored=float32", "own-casts= is for runs in float32"],
    ["world=4,ddp,own-casts=norm", "own-casts= is for FSDP"],
  ])("refuses %s", (text, message) => {
    expect(() => parseShardingPlan(text)).toThrow(message);
  });

  it("is written and read", () => {
    for (const text of ["world=4,bf16,own-casts=norm+loss", "world=4,bf16,own-casts="])
      expect(readShardingPlan(writeShardingPlan(parseShardingPlan(text)))).toEqual(parseShardingPlan(text));
  });
});

describe("a run that computes in bfloat16 itself", () => {
  const file = readFileSync(new URL("./fixtures/bf16-recorded-llama.json.gz", import.meta.url));
  const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));
  const plan = "world=4,bf16,stored=float32";

  it("holds, with shards in float32, what PyTorch does of a Llama of transformers, whose normalisation computes in float32", () => {
    const { trace: rank } = simulateFsdp(trace, parseShardingPlan(plan));
    // Measured with `MemTracker` of PyTorch 2.13, around FSDP2 with that policy on the model in float32.
    expect(Math.abs(heldPeak(rank).peakBytes - 47_155_876)).toBeLessThanOrEqual(4096);
  });

  it("says in files what it says in text", () => {
    expect(readShardingPlan(writeShardingPlan(parseShardingPlan(plan)))).toEqual(parseShardingPlan(plan));
  });

  it.each([
    ["world=4,stored=float32", "Set it once for the plan: world=8,bf16,stored=float32"],
    ["world=4,fp16,stored=float32", "Record the model in float16, or remove stored="],
    ["world=4,bf16,stored=int8", 'expected stored=float16, bfloat16, float32, float64, found "int8"'],
    ["world=4,stored=float32,ddp", "stored= is for FSDP"],
    ["world=4,bf16,wrap=model.layers.0(fp16),stored=float32", "one dtype that all groups compute in"],
  ])("refuses %s", (text, message) => {
    expect(() => simulateFsdp(trace, parseShardingPlan(text))).toThrow(message);
  });
});

describe("a run that was recorded in bfloat16, too", () => {
  const file = JSON.parse(
    gunzipSync(readFileSync(new URL("./fixtures/in-two-dtypes-llama.json.gz", import.meta.url))).toString(),
  );
  const trace = readPyTorchTrace(file);
  const low = readPyTorchTrace(file.recorded_in.bfloat16);
  const { recorded_in: _, ...wideFile } = file;
  const wide = readPyTorchTrace(wideFile);
  const simulated = (run: Trace, text: string) => simulateFsdp(run, parseShardingPlan(text));
  const peakOf = (run: Trace, text: string): number => heldPeak(simulated(run, text).trace).peakBytes;

  it("holds in bfloat16 what PyTorch does of a Llama with fewer heads of keys than of queries, and in float32 what it did", () => {
    // Measured with `MemTracker` of PyTorch 2.13, around FSDP2 on the model in float32, with CUDA's attention; except
    // for counters of Adam, as above.
    const measured = 19_763_200;
    expect(Math.abs(peakOf(trace, "world=4,bf16") - measured)).toBeLessThanOrEqual(30_000);
    expect(Math.abs(peakOf(wide, "world=4,bf16") / measured - 1)).toBeGreaterThan(0.02);
    expect(peakOf(trace, "world=4")).toBe(peakOf(wide, "world=4"));
  });

  it.each([
    ["world=4,bf16", "world=4,bf16,stored=float32"],
    ["world=4,bf16,stored=float32", "world=4,bf16,stored=float32"],
    [
      "world=4,bf16,checkpoint=model.layers.*(save=_scaled_dot_product_flash_attention)",
      "world=4,bf16,stored=float32,checkpoint=model.layers.*(save=_scaled_dot_product_flash_attention)",
    ],
    ["world=1,param=bfloat16", "world=1,param=bfloat16,stored=float32"],
    // The model computes its loss itself, so the cast logits are not read.
    ["world=4,bf16,output=float32", "world=4,bf16,output=float32,stored=float32"],
    // Stated for each group, or again with another option for one group. All groups compute in it.
    ["world=4,wrap=model.layers.*(bf16),root(bf16)", "world=4,bf16,stored=float32"],
    ["world=4,bf16,wrap=model.layers.*(bf16,output=bfloat16)", "world=4,bf16,stored=float32"],
  ])("is taken for %s", (text, told) => {
    const { plan, trace: rank } = simulated(trace, text);
    expect(heldPeak(rank).peakBytes).toBe(peakOf(low, told));
    expect(plan.storedDtype).toBe(parseShardingPlan(text).storedDtype);
    expect(rank.header.notes!.join("\n")).toContain("as recorded in bfloat16");
    expect(rank.header.notes!.join("\n")).not.toMatch(/assumed to|attention by matrix products/);
  });

  const shown = "; casts to float32 in the model's own code are taken from the other recording (norm, loss)";
  it.each([
    ["world=4,bf16,own-casts=norm", "own-casts= is supported only there; without own-casts=, the other recording"],
    ["world=4,bf16,ignore=lm_head", `ignore= is supported only there${shown}`],
    ["world=4,bf16,wrap=model.layers.0(param=float32)", `not all groups compute in bfloat16${shown}`],
    ["world=4,bf16,wrap=model.layers.0(output=float32)", `output= is supported only there${shown}`],
    ["world=4,wrap=model.layers.*(bf16,output=float32)", `not all groups compute in bfloat16 and output=`],
    ["world=4,bf16,cast=lm_head:float32", `cast= is supported only there${shown}; without cast=, the other recording`],
  ])("is passed over for %s, which is said", (text, why) => {
    const { trace: rank } = simulated(trace, text);
    const told = text.includes("own-casts=") ? text : `${text},own-casts=norm+loss`;
    expect(heldPeak(rank).peakBytes).toBe(peakOf(wide, told));
    const notes = rank.header.notes!.join("\n");
    expect(notes).toContain(
      `The step was recorded in float32 and bfloat16. The simulation uses the float32 recording, because ${why}`,
    );
    expect(notes).not.toContain("also_in");
  });

  it("is taken for fp16, which takes as much", () => {
    for (const more of ["", ",wrap=model.layers.0(param=float32,output=float16)"])
      expect(peakOf(trace, `world=4,fp16${more}`)).toBe(
        peakOf(trace, `world=4,bf16${more.replace("float16", "bfloat16")}`),
      );
  });

  it("shows what is given by keyword, which FSDP casts", () => {
    // Turns, which the layers of a Llama are given so.
    const { assumptions } = simulated(trace, "world=4,wrap=model.layers.*(bf16,output=float32)");
    expect(assumptions.join("\n")).not.toContain("PyTorch will refuse");
  });

  it.each(["world=4,ddp", "world=4"])("has nothing to do with %s", (text) => {
    const { trace: rank } = simulated(trace, text);
    expect(heldPeak(rank).peakBytes).toBe(peakOf(wide, text));
    expect(rank.header.notes!.join("\n")).not.toContain("The simulation uses the");
  });

  it("is in the allocation units that are asked for", () => {
    const inBytes = trace.withHeader({ ...trace.header, allocationUnitBytes: 1 });
    expect(peakOf(inBytes, "world=4,bf16")).toBeLessThan(peakOf(trace, "world=4,bf16"));
  });
});

describe("plans that say what a run in bfloat16 alone does not show", () => {
  const file = readFileSync(new URL("./fixtures/in-two-dtypes-gpt2.json.gz", import.meta.url));
  const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));
  const layerNorms = [0, 1, 2].flatMap((i) => [`ignore=transformer.h.${i}.ln_1`, `ignore=transformer.h.${i}.ln_2`]);

  // Measured with `MemTracker` of PyTorch 2.13, around FSDP2 on a GPT-2 of Hugging Face, which computes its loss in
  // float32; except for counters of Adam.
  it.each([
    ["world=4,wrap=transformer.h.*,bf16", 10_049_536],
    ["world=4,wrap=transformer.h.*,root(output=float32),bf16", 10_049_536],
    ["world=4,wrap=transformer.h.0(param=float32,output=bfloat16),wrap=transformer.h.*,bf16", 11_884_544],
    [["world=4,wrap=transformer.h.*", ...layerNorms, "ignore=transformer.ln_f", "bf16"].join(), 10_047_488],
  ])("holds under %s what PyTorch does", (text, measured) => {
    const { peakBytes } = heldPeak(simulateFsdp(trace, parseShardingPlan(text)).trace);
    expect(Math.abs(peakBytes - measured)).toBeLessThanOrEqual(25_000);
  });

  it("keeps whole what the optimizer has of a parameter that is ignored, whatever else has its shape", () => {
    // The embedding is as large as each second matrix of the multi-layer perceptrons.
    const { trace: rank } = simulateFsdp(
      trace,
      parseShardingPlan("world=4,wrap=transformer.h.*,ignore=transformer.wte,bf16"),
    );
    const { optimizerState = 0 } = heldPeak(rank).bytesByCategory;
    expect(Math.abs(optimizerState - 1_746_944)).toBeLessThanOrEqual(25_000);
  });

  it("says where PyTorch will refuse what a parameter that is ignored makes wide", () => {
    const { assumptions } = simulateFsdp(
      trace,
      parseShardingPlan("world=4,wrap=transformer.h.*,ignore=transformer.wte,bf16"),
    );
    expect(assumptions.join("\n")).toContain("PyTorch rejects aten.mm.default in GPT2LMHeadModel.lm_head");
  });

  it("says where PyTorch will fail for parameters that are left sharded in the backward pass", () => {
    const told = (text: string): string => simulateFsdp(trace, parseShardingPlan(text)).assumptions.join("\n");
    const plan = "world=4,wrap=transformer.h.*,wrap=transformer.wpe";
    expect(told(`${plan},no-unshard-in-backward=transformer.h.2`)).toContain(
      "PyTorch will fail in the backward pass: aten.mm.default reads parameters of GPT2LMHeadModel.transformer.h.2",
    );
    expect(told(`${plan},no-unshard-in-backward=transformer.wpe`)).not.toContain("PyTorch will fail");
    expect(told(`${plan},no-reshard,no-unshard-in-backward=transformer.h.2`)).not.toContain("PyTorch will fail");
  });
});

describe("groups of two precisions", () => {
  const file = readFileSync(new URL("./fixtures/plain-mlp.json.gz", import.meta.url));
  const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));
  // PyTorch 2.13 under MemTracker, two steps.
  it.each([
    ["wrap=0(bf16,output=float32),wrap=1,wrap=2,wrap=3", 68_756_992],
    ["wrap=0,wrap=1(bf16,output=float32),wrap=2,wrap=3(param=bfloat16,output=float32)", 60_363_264],
    ["wrap=0(param=float32),wrap=1,wrap=2,wrap=3,bf16", 60_887_552],
    // For two modules in one group, the inputs of the first and the outputs of the second are cast.
    ["wrap=0,wrap=1+2(bf16,output=float32),wrap=3", 68_762_112],
    ["wrap=0(bf16,output=float32),wrap=1,wrap=2,wrap=3,checkpoint=?", 65_349_120],
    ["wrap=0(param=bfloat16,output=float32),wrap=1,wrap=2,wrap=3,rank=2", 68_756_992],
  ])("hold under %s what PyTorch does", (text, peakBytes) => {
    const { trace: rank } = simulateFsdp(trace, parseShardingPlan(`world=4,${text}`));
    expect(heldPeak(rank).peakBytes).toBe(peakBytes);
  });

  it.each([
    ["world=3", 78_647_296],
    ["world=3,rank=2", 78_565_376],
    ["world=7,rank=6,bf16", 41_094_656],
  ])("and ranks with smaller shards than the first: %s", (text, peakBytes) => {
    expect(heldPeak(simulateFsdp(trace, parseShardingPlan(text)).trace).peakBytes).toBe(peakBytes);
  });

  it("hold no input that they have cast, nor an output that others have cast, where shards are of uneven sizes", () => {
    const plan = parseShardingPlan("world=4,wrap=blocks.1(bf16,output=float32),wrap=blocks.3");
    const uneven = readPyTorchTrace(
      JSON.parse(gunzipSync(readFileSync(new URL("./fixtures/uneven-mlp.json.gz", import.meta.url))).toString()),
    );
    const { peakBytes } = heldPeak(simulateFsdp(uneven, plan).trace);
    expect(Math.abs(peakBytes / 31_208_960 - 1)).toBeLessThanOrEqual(0.001); // 0.0005
  });

  const notesOf = (text: string): string =>
    (simulateFsdp(trace, parseShardingPlan(text)).trace.header.notes ?? []).join("\n");

  it("are said not to run where one hands on what the next does not cast", () => {
    expect(notesOf("world=4,wrap=0(bf16),wrap=1,wrap=2,wrap=3")).toMatch(
      /PyTorch rejects aten\.addmm\.default in Sequential\.1\S*, because it gets bfloat16 and another dtype/,
    );
    for (const text of [
      "wrap=0(bf16,output=float32),wrap=1,wrap=2,wrap=3",
      "wrap=0(param=float32),wrap=1,wrap=2,wrap=3,bf16",
      "bf16",
    ])
      expect(notesOf(`world=4,${text}`)).not.toContain("refuse");
  });
});
