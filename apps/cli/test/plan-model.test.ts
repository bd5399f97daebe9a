import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { holdPlan } from "@remat/memory/sequence";
import { goldenFiles } from "@remat/testkit";
import { findPlanMismatch, readPlan, readTrace, TraceBuilder, writeTrace } from "@remat/trace";
import { afterAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));
const transformer = join(examples, "transformer/model.js");
const golden = (name: string): string => goldenFiles().find((file) => file.name === name)?.path ?? "";
const folder = mkdtempSync(join(tmpdir(), "remat-plan-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function planJson(...args: string[]) {
  const { code, stdout, stderr } = await remat("plan", ...args, "--format", "json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("remat plan MODEL", () => {
  it("keeps an example within a budget, and writes a plan that holds what it predicts", async () => {
    const [output, traced] = [join(folder, "plan.json"), join(folder, "run.remat.jsonl.gz")];
    const args = [transformer, "--size", "tiny", "--budget", "20%", "--iterations", "6000"];
    const answer = await planJson(...args, "-o", output, "--trace", traced);
    expect(answer).toMatchObject({
      feasible: true,
      pricedFor: "a100",
      subject: { kind: "trace", name: "Transformer" },
    });
    expect(answer.peakBytes).toBeLessThanOrEqual(0.2 * answer.stockPeakBytes);
    expect(answer.unrecomputedPeakBytes).toBeGreaterThan(answer.peakBytes);
    expect(answer.overhead).toBeGreaterThan(0);
    expect(answer.stepMs / answer.plainMs - 1).toBeCloseTo(answer.overhead, 9);
    expect(answer.lowerBoundMs).toBeLessThanOrEqual(answer.stepMs);
    expect(answer.recomputed.ms).toBeCloseTo(answer.stepMs - answer.plainMs, 9);

    const plan = readPlan(readFileSync(output, "utf8"));
    const trace = await readTrace(createReadStream(traced));
    expect(findPlanMismatch(plan, trace)).toBeUndefined();
    expect(holdPlan(trace, plan).peakBytes).toBe(answer.peakBytes);

    // A trace is planned as the model that it is of.
    const again = await planJson(
      traced,
      "--budget",
      `${answer.budgetBytes}B`,
      "--iterations",
      "6000",
      "--device",
      "a100",
    );
    expect(again.peakBytes).toBe(answer.peakBytes);
    expect(again.stepMs).toBeCloseTo(answer.stepMs, 12);
  });

  it("counts an optimizer's state from the start of the step", async () => {
    const tiny = [transformer, "--size", "tiny", "--budget", "100%"];
    const [without, adam] = [
      await planJson(...tiny, "--optimizer", "none"),
      await planJson(...tiny, "--optimizer", "adam"),
    ];
    const state = adam.points.at(-1).bytesByCategory.optimizerState;
    expect(state).toBeGreaterThan(2 * adam.points.at(-1).bytesByCategory.parameter * 0.9);
    expect(without.points.at(-1).bytesByCategory.optimizerState).toBeUndefined();
  });

  it("takes a Keras topology, and what it may cost", async () => {
    const model = join(examples, "keras/mobilenet_v1.model.json");
    const answer = await planJson(model, "--max-overhead", "5%", "--iterations", "16000");
    expect(answer.overhead).toBeLessThanOrEqual(0.05);
    expect(answer.peakBytes).toBeLessThan(answer.unrecomputedPeakBytes);
    expect(answer.recomputed.byModule.length).toBeGreaterThan(0);
  });

  it("recomputes nothing where freeing is enough, and shows so", async () => {
    const run = await remat("plan", transformer, "--size", "tiny", "--budget", "0.9");
    expect(run.stdout.replaceAll(transformer, "model.js")).toMatchSnapshot();
  });

  it("shows the front and three recommendations", async () => {
    const run = await remat("plan", transformer, "--size", "tiny", "--pareto", "3", "--iterations", "14000");
    for (const part of [
      "Memory against time",
      "Recommended",
      "no slowdown",
      "at most 5%",
      "at most 20%",
      "no budget was given",
    ])
      expect(run.stdout).toContain(part);
  });

  it("names what binds where nothing fits", async () => {
    const run = await remat(
      "plan",
      transformer,
      "--size",
      "tiny",
      "--budget",
      "1%",
      "--iterations",
      "2000",
      "--format",
      "json",
    );
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(
      /^remat: Transformer: no plan fits within .* the smallest peak found is \d+B \(.*\)\. .*\n$/,
    );
    const why = JSON.parse(run.stdout);
    expect(why.feasible).toBe(false);
    expect(why.smallestFeasibleBytes).toBeGreaterThanOrEqual(why.lowerBoundBytes);
    const { heldBytes, waitingBytes, inputs, outputs } = why;
    const sum = [...inputs, ...outputs].reduce((bytes: number, value: { bytes: number }) => bytes + value.bytes, 0);
    expect(heldBytes + waitingBytes + sum).toBeLessThanOrEqual(why.lowerBoundBytes);
    expect(why.occurrence).toContain("Transformer.");
  });
});

describe("remat plan TRACE", () => {
  it("plans a recorded run of PyTorch", async () => {
    const answer = await planJson(golden("mem_tf_b2_adam"), "--budget", "90%", "--iterations", "10000");
    expect(answer.subject).toMatchObject({ framework: "pytorch", name: "mem_tf_b2_adam" });
    expect(answer.peakBytes).toBeLessThanOrEqual(0.9 * answer.stockPeakBytes);
  });

  it("writes what PyTorch is to checkpoint", async () => {
    const path = join(folder, "policy.json");
    const args = [golden("mem_tf_b2_adam"), "--budget", "90%", "--pytorch-policy", path];
    const answer = await planJson(...args, "--iterations", "4000");
    const { format, modules } = JSON.parse(readFileSync(path, "utf8"));
    expect(format).toBe("remat-pytorch-policy/1");
    const blocks = answer.recomputed.byModule.map(({ name }: { name: string }) => name);
    for (const name of Object.keys(modules)) expect(blocks).toContain(`Transformer.${name}`);
    const { peakBytes, modules: counted } = answer.pytorchPolicy;
    expect(counted.map(({ name }: { name: string }) => name)).toEqual(Object.keys(modules));
    expect(peakBytes).toBeLessThan(answer.stockPeakBytes);
    const table = await remat("plan", ...args, "--iterations", "4000");
    expect(table.stdout).toContain("Checkpointed in PyTorch");

    await planJson(...args, "--method", "modules");
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ model: "mem_tf_b2_adam" });
  });

  describe("for torch.utils.checkpoint", () => {
    const cases = new URL("../../../packages/planner/test/fixtures/checkpoint-cases.json.gz", import.meta.url);
    const path = join(folder, "torch-step.json");
    const policyPath = join(folder, "torch-policy.json");
    const recorded = JSON.parse(gunzipSync(readFileSync(cases)).toString()).cases[3].step;

    it("plans modules of a run that says what autograd saves, beside what people write, and writes the policy", async () => {
      writeFileSync(path, JSON.stringify(recorded));
      const answer = await planJson(path, "--budget", "70%", "--pytorch-policy", policyPath);
      expect(answer).toMatchObject({ executor: "torch-checkpoint", budgetBytes: 0.7 * answer.plain.peakBytes });
      expect(answer.peakBytes).toBeLessThanOrEqual(answer.budgetBytes);
      for (const hand of answer.byHand.filter((one: { peakBytes: number }) => one.peakBytes <= answer.budgetBytes))
        expect(answer.overhead).toBeLessThanOrEqual(hand.overhead);
      const policy = JSON.parse(readFileSync(policyPath, "utf8"));
      expect(policy).toMatchObject({ format: "remat-pytorch-policy/4", torch: recorded.config.torch });
      expect(Object.keys(policy.modules).map((name) => name || "the model")).toEqual(
        answer.modules.map(({ name }: { name: string }) => name),
      );
      const table = await remat("plan", path, "--budget", "70%");
      expect(table.stdout).toContain("by hand: all blocks, as Hugging Face does");
    });

    it("fails where nothing keeps to the budget, and says what holds least", async () => {
      writeFileSync(path, JSON.stringify(recorded));
      const run = await remat("plan", path, "--budget", "20%", "--pytorch-policy", join(folder, "none.json"));
      expect(run.code).toBe(3);
      expect(run.stderr).toContain("The smallest peak found is");
      expect(run.stderr).toMatch(
        /The smallest peak found is \d+B \(.+\) \(.+ without checkpointing\), .+ or more --time\./,
      );
      expect(existsSync(join(folder, "none.json"))).toBe(false);
    });

    it("names modules that cannot run again, if nothing keeps to the budget", async () => {
      // Each module call changes state, so that nothing is left to run again.
      const events = recorded.events.flatMap((event: { e: string; bw?: number }) =>
        event.e === "post_fw" && event.bw === undefined ? [{ e: "mark", name: "stateReplaced" }, event] : [event],
      );
      writeFileSync(path, JSON.stringify({ ...recorded, events }));
      const run = await remat("plan", path, "--budget", "20%");
      expect(run.code).toBe(3);
      const [, modules, others] =
        /Give a larger budget\. These modules cannot run again: (.+) \(it replaces its own weights or buffers as it runs\); and (\d+) more\.$/m.exec(
          run.stderr,
        ) ?? [];
      expect(modules?.split(", ")).toHaveLength(5);
      expect(Number(others)).toBeGreaterThan(0);
    });

    it("plans op by op where that is asked for, and refuses what does not go together", async () => {
      writeFileSync(path, JSON.stringify(recorded));
      const answer = await planJson(path, "--budget", "90%", "--executor", "tfjs", "--iterations", "1000");
      expect(answer.subject).toMatchObject({ framework: "pytorch" });
      const both = await remat(
        "plan",
        path,
        "--budget",
        "90%",
        "--executor",
        "torch-checkpoint",
        "--method",
        "modules",
      );
      expect(both).toMatchObject({ code: 2, stdout: "" });
      expect(both.stderr).toContain("Remove --method");
      const tfjs = await remat(
        "plan",
        transformer,
        "--size",
        "tiny",
        "--budget",
        "0.5",
        "--executor",
        "torch-checkpoint",
      );
      expect(tfjs.stderr).toContain("is for PyTorch runs; Transformer is a run of tfjs");
    });
  });

  it("plans by modules, with the true peak beside the model's bound", async () => {
    const args = [golden("mem_02_transformer_adam"), "--method", "modules"];
    const answer = await planJson(...args, "--budget", "60%");
    const { bound, modules } = answer;
    expect(bound.modelPeakBytes).toBeLessThanOrEqual(answer.budgetBytes);
    expect(bound.simulatedPeakBytes).toBe(answer.peakBytes);
    expect(modules.length).toBeGreaterThan(0);
    for (const { fqn, freedShare } of modules) {
      expect(fqn).toMatch(/^Transformer\.layers\.\d/);
      expect(freedShare).toBeGreaterThan(0);
    }
    const table = await remat("plan", ...args, "--budget", "60%", "--module", "layers.*");
    expect(table.stdout).toContain("Module model and simulated step");
    expect(table.stdout).toContain("Checkpointed modules");

    const sharded = await planJson(...args, "--budget", "60%", "--world-size", "8", "--fsdp-units", "layers.*");
    expect(sharded.points[0].bytesByCategory.parameter).toBeLessThan(answer.points[0].bytesByCategory.parameter / 7);
  });

  it.each(["dp", "knapsack", "milp", "greedy"])("stores what %s chooses of each module", async (method) => {
    const answer = await planJson(
      golden("mem_tf_b2_adam"),
      "--method",
      method,
      "--module-budget",
      "0.5",
      "--module",
      "layers.*",
    );
    expect(answer.policies.map(({ fqn }: { fqn: string }) => fqn)).toEqual(
      [0, 1, 2, 3].map((i) => `Transformer.layers.${i}`),
    );
    for (const { storedBytes, budgetBytes, gap } of answer.policies) {
      expect(storedBytes).toBeLessThanOrEqual(budgetBytes);
      expect(gap).toBeLessThan(method === "greedy" ? 0.5 : 1e-6);
    }
    expect(answer.peakBytes).toBeLessThan(answer.unrecomputedPeakBytes);
  });

  it("refuses what cannot be planned, with one line and the next step", async () => {
    const forward = new TraceBuilder({
      framework: "tfjs",
      device: "cpu",
      mode: "fake",
      allocationUnitBytes: 1,
      model: "net",
    });
    const storage = forward.allocate(4);
    forward.op({ name: "Relu", outputs: [forward.tensor({ storage, dtype: "float32", shape: [1] })], runtimeMs: 1 });
    forward.free(storage);
    const noBackward = join(folder, "forward.remat.jsonl");
    writeFileSync(noBackward, Buffer.concat([...writeTrace(forward.build())]));
    const cases: [string[], number, string][] = [
      [[noBackward, "--budget", "0.5"], 1, "backward"],
      [[golden("sac_03_mlp"), "--budget", "0.5"], 1, "the trace has no lifetimes"],
      [[golden("mem_03_mlp_adam"), "--budget", "0.5", "--batch", "3"], 2, "--batch cannot change"],
      [[golden("mem_03_mlp_adam"), "--budget", "0.5", "--order", "free"], 2, "--order free is for graph files"],
      [[golden("mem_tf_b2_adam"), "--budget", "1%", "--method", "modules"], 1, "Raise the budget to"],
      [
        [golden("mem_tf_b2_adam"), "--module-budget", "0.5", "--method", "dp", "--module", "nothing.*"],
        2,
        "matches no module",
      ],
      [[golden("mem_tf_b2_adam"), "--pareto", "3", "--method", "dp"], 2, "--method dp needs a --module-budget"],
      [
        [golden("mem_tf_b2_adam"), "--budget", "60%", "--method", "dp"],
        2,
        "--budget limits the step's peak, and --method dp limits what each module stores. Use --module-budget 60%",
      ],
      [[golden("mem_tf_b2_adam"), "--module-budget", "60%"], 2, "Use --budget, or --method dp, milp or greedy"],
      [[transformer, "--size", "tiny", "--budget", "0.5", "--pytorch-policy", "x"], 2, "Transformer is a run of tfjs"],
      [[join(folder, "no.json"), "--budget", "0.5"], 1, "no such file"],
    ];
    for (const [args, code, message] of cases) {
      const run = await remat("plan", ...args);
      expect(run, args.join(" ")).toMatchObject({ code, stdout: "" });
      expect(run.stderr).toContain(message);
      expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
    }
  });
});
