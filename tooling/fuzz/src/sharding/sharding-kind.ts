import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { CheckpointedRun, fullyShardCode, parseShardingPlan, simulateFsdp } from "@remat/sharding";
import { RematError, type Trace } from "@remat/trace";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { titleOf } from "../test-text.js";
import { Torch } from "../torch/ask-torch.js";
import { type DrawnPlan, drawnPlan } from "./drawn-plan.js";

interface TorchAnswer {
  readonly peakBytes?: number;
  readonly error?: string;
}

/** Allowed differences between tracker and simulation: the loss, and with checkpointing scalars of it. */
const scalarBytes = 1024;
const fewScalarsBytes = 4096;

/** Sharding plans: compares the memory of a rank in PyTorch with remat's prediction. */
export const shardingKind: FuzzerKind = {
  title: "sharding plans",
  backends: ["cpu"],
  share: 0,
  run: async (campaign) => {
    const torch = new Torch(new URL("sharded_models.py", import.meta.url));
    let answered = 0;
    let refused = "";
    try {
      await explore(campaign, {
        arbitrary: drawnPlan,
        check: async (drawn) => {
          const simulated = simulate(drawn);
          // Impossible plans, such as a group inside a group, are rejected with a reason.
          if (typeof simulated === "string") return undefined;
          const { peakBytes, error = "" } = await torch.ask<TorchAnswer>(simulated.asked);
          if (peakBytes === undefined) {
            refused = error;
            return undefined;
          }
          answered++;
          const off = Math.abs(simulated.peakBytes - peakBytes);
          const isRepeated = /checkpoint=|micro-batches=/.test(drawn.plan);
          return off <= (isRepeated ? fewScalarsBytes : scalarBytes)
            ? undefined
            : `${drawn.model} under ${drawn.plan}: PyTorch holds ${peakBytes}, we say ${simulated.peakBytes}`;
        },
        testOf: ({ model, plan }, what) =>
          [
            `test(${titleOf(what)}, () => {`,
            `  const { trace } = simulateFsdp(traces[${JSON.stringify(model)}], parseShardingPlan(${JSON.stringify(plan)}));`,
            "  expect(heldPeak(trace).peakBytes).toBe(/* what PyTorch holds */);",
            "});",
          ].join("\n"),
      });
    } finally {
      torch.close();
    }
    if (answered === 0) throw new Error(`PyTorch has answered for no plan, at last: ${refused}`);
  },
};

/** For each model: its run on one device, as recorded by `tooling/pytorch-exporter`. */
const known = new Map<string, { readonly trace: Trace; readonly run: CheckpointedRun }>();

function runOf(model: string): { readonly trace: Trace; readonly run: CheckpointedRun } {
  const before = known.get(model);
  if (before !== undefined) return before;
  const fixture = new URL(`../../../../packages/sharding/test/fixtures/plain-${model}.json.gz`, import.meta.url);
  const trace = readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(fixture)).toString()));
  const made = { trace, run: new CheckpointedRun(trace) };
  known.set(model, made);
  return made;
}

/** Predicts the memory of a rank, with the question for PyTorch; or returns why the plan is rejected. */
function simulate({ model, plan: text }: DrawnPlan): { readonly peakBytes: number; readonly asked: object } | string {
  try {
    const { trace, run } = runOf(model);
    const plan = parseShardingPlan(text);
    const simulation = simulateFsdp(trace, plan, run);
    const { worldSize, microBatches = 1, gradientSync } = plan;
    return {
      peakBytes: heldPeak(simulation.trace).peakBytes,
      asked: { model, code: fullyShardCode(trace, plan), worldSize, microBatches, syncLast: gradientSync === "last" },
    };
  } catch (error) {
    if (error instanceof RematError) return error.message;
    throw error;
  }
}
