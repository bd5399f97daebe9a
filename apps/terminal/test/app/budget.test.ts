import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { CheckpointedSteps } from "@remat/memory/checkpointing";
import { accountSequence, sequenceGraphOfTrace } from "@remat/memory/sequence";
import { readPyTorchTrace } from "@remat/pytorch";
import { chooseWithin, formatBytes } from "@remat/reporting";
import { describe, expect, it } from "vitest";
import { transformer, uNetAndPlanned } from "../traces.js";
import { appOf, makeApp, own, screenText, tooWide } from "./make-app.js";

const trace = await transformer();
const saves = new URL("../../../../packages/sharding/test/fixtures/plain-tf.json.gz", import.meta.url);
const recorded = readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(saves)).toString()));

describe("a budget of the step", () => {
  it("goes from plan to plan by keys, and shows what the step then holds", async () => {
    const { app, press } = appOf(trace, { view: "memory", size: { columns: 100, rows: 40 } });
    const recorded = heldPeak(app.document.trace).peakBytes;
    press("down");
    expect(screenText(app).join("\n")).toContain("searching for plans");
    await app.runner.works.finish();
    const { front } = own(app).memory.plans;
    expect(front?.reason).toBeUndefined();
    const plans = front!.plans;
    expect(plans.length).toBeGreaterThan(1);
    const graph = sequenceGraphOfTrace(app.document.trace);
    for (let step = 0; step < plans.length + 2; step++) {
      await app.runner.works.finish();
      const { budgetBytes, plans: state } = own(app).memory;
      const { point } = chooseWithin(plans, budgetBytes!);
      const text = screenText(app).join("\n");
      expect(text).toContain(`budget ${formatBytes(budgetBytes!)}`);
      if (point === undefined) expect(text).toContain("No plan was found within");
      else {
        expect(state.held?.plan).toBe(point);
        const account = accountSequence(graph, point.sequence!)!;
        expect(state.held?.memory.highestBytes).toEqual(account.highestBytes);
        expect(text).toContain(`peak ${formatBytes(account.peakBytes)} at op ${account.peakOp}`);
        expect(text).toContain("under the plan");
      }
      expect(tooWide(app)).toEqual([]);
      press("down");
    }
    // No plan is smaller than the last: there the line stays.
    expect(own(app).memory.budgetBytes).toBe(plans.at(-1)!.peakBytes);
    press("x");
    expect(own(app).memory.budgetBytes).toBeUndefined();
    expect(screenText(app).join("\n")).toContain(`peak ${formatBytes(recorded)}`);
  });

  it("names the op of the plan's peak if an earlier op holds as much", async () => {
    const { app, press } = appOf(trace, { view: "memory", size: { columns: 100, rows: 40 } });
    press("down");
    await app.runner.works.finish();
    press("down");
    await app.runner.works.finish();
    const { memory, plan } = own(app).memory.plans.held!;
    expect(memory.peakOp).toBeGreaterThan(0);
    memory.highestBytes[0] = plan.peakBytes;
    expect(screenText(app).join("\n")).toContain(`peak ${formatBytes(plan.peakBytes)} at op ${memory.peakOp}`);
  });

  it("shows at the ops that match what a step with other ops holds under its plan", async () => {
    const { trace, planned } = await uNetAndPlanned();
    const { app, press } = makeApp({ view: "memory", size: { columns: 100, rows: 40 } });
    app.show("u-net", "/folder/model.js", trace, true, { planned });
    press("down");
    await app.runner.works.finish();
    const { front } = own(app).memory.plans;
    expect(front?.reason).toBeUndefined();
    press("down");
    await app.runner.works.finish();
    const { held } = own(app).memory.plans;
    const account = accountSequence(sequenceGraphOfTrace(app.document.planned()!), held!.plan.sequence!)!;
    expect(account.peakBytes).toBe(held!.plan.peakBytes);
    const { memory } = held!;
    expect([memory.count, held!.plan.fates.length]).toEqual([trace.ops.count, trace.ops.count]);
    expect(memory.highestBytes[memory.peakOp]).toBe(account.peakBytes);
    const text = screenText(app).join(" ").replaceAll(/\s+/g, " ");
    expect(text).toContain(`peak ${formatBytes(account.peakBytes)} at op ${memory.peakOp}`);
    expect(text).toContain("Its step has other ops, so it is drawn at matching ops.");
    expect(tooWide(app)).toEqual([]);
  });

  it("in PyTorch selects a policy that torch.utils.checkpoint can follow", async () => {
    const { app, press } = appOf(recorded, { view: "memory", size: { columns: 100, rows: 40 } });
    press("down");
    await app.runner.works.finish();
    const { front } = own(app).memory.plans;
    expect(front?.reason).toBeUndefined();
    const steps = new CheckpointedSteps(app.document.trace);
    expect(front!.plans.length).toBeGreaterThan(2);
    for (const { policy, peakBytes } of front!.plans)
      expect(heldPeak(steps.under(policy!, "")).peakBytes).toBe(peakBytes);
    press("down");
    await app.runner.works.finish();
    const text = screenText(app).join("\n");
    expect(text).toContain("under the plan");
    expect(text).toContain("torch.utils.checkpoint applies to ");
    press("7");
    press("p");
    await app.runner.works.finish();
    expect(screenText(app).join(" ").replaceAll(/\s+/g, " ")).toMatch(/torch\.utils\.checkpoint/);
  });

  it("is typed, and refused in words where it is none", async () => {
    const { app, press, type } = appOf(trace, { view: "memory" });
    press("B");
    type("60%");
    press("enter");
    await app.runner.works.finish();
    await app.runner.works.finish();
    expect(own(app).memory.budgetBytes).toBe(Math.floor(0.6 * heldPeak(app.document.trace).peakBytes));
    press("B", "ctrl+u");
    type("12 parsecs");
    press("enter");
    expect(app.state.notice?.text).toContain("expected a budget as");
    press("B", "ctrl+u");
    type("1B");
    press("enter");
    await app.runner.works.finish();
    expect(screenText(app).join("\n")).toContain("No plan was found within");
  });
});
