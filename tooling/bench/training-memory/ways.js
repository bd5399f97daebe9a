import { applyPlan, MemoryMeter, releaseEarly } from "@remat/checkpoint";
import { hostMsOf, stepWays } from "@remat/checkpoint/predict";
import { openDispatchMode } from "@remat/dispatch-hook";
import { readPlan } from "@remat/trace";
import { OpStopwatch, stepToPlan, traceFakeStep } from "@remat/tracer";
import { loadModel } from "../../../apps/cli/dist/load-model.js";

/**
 * Opens the execution that a strategy needs. Returns what to run around its steps, and answers to questions about them.
 */
export async function prepareWay(way, source, { backend }, { model, parameters = {}, buffers = {} }) {
  switch (way.kind) {
    case "hook":
      openDispatchMode({});
      return {};
    case "counted":
      return counting(() => {});
    case "early-release":
      return counting(() => releaseEarly());
    case "plan":
      return counting(() => applyPlan(readPlan(way.plan)));
    case "op-times": {
      const traced = await traceFakeStep(await loadModel(source), {
        ...source.request,
        name: source.name,
        backend,
        ...stepToPlan,
      });
      const stopwatch = new OpStopwatch(traced);
      const turn = stopwatch.turn(await stepWays(traced));
      openDispatchMode({});
      let steps = 0;
      return {
        around: (step) => turn[steps++ % turn.length](step),
        "forget-times": () => stopwatch.reset(),
        times() {
          const { trace, hostMsByWay } = stopwatch.times();
          return { runtimeMs: trace.ops.runtimeMs, hostMs: hostMsOf(hostMsByWay) };
        },
      };
    }
    default:
      throw new Error(`bench:memory: no way to train is called '${way.kind}'`);
  }

  /** Memory is counted until its peak is requested, so that later timing is not slowed by counting. */
  function counting(open) {
    const meter = new MemoryMeter();
    let stopCounting = openDispatchMode(meter);
    open();
    const ofLayers = (model?.weights ?? []).map((weight) => weight.val);
    const weights = [...ofLayers, ...Object.values(parameters), ...Object.values(buffers)];
    let peakBytes = 0;
    return {
      around(step) {
        if (stopCounting === undefined) return step();
        meter.count(weights);
        meter.reset();
        step();
        peakBytes = Math.max(peakBytes, meter.peakBytes);
      },
      peak() {
        stopCounting?.();
        stopCounting = undefined;
        return peakBytes;
      },
    };
  }
}
