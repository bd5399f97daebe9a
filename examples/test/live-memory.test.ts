import { MemTracker, trackLive, trackMemory } from "@remat/memory/tracker";
import { parseTrace, type Trace, writeTrace } from "@remat/trace";
import { type TraceStepOptions, traceFakeStep, traceStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { describe, expect, it } from "vitest";
import { exampleNamed } from "./examples.js";

const reread = (trace: Trace): Trace => parseTrace(Buffer.concat([...writeTrace(trace, { gzip: true })]));

/** All that a tracker can be asked. */
const answers = (tracker: MemTracker): unknown => ({
  current: tracker.snapshot(),
  peak: tracker.snapshot("peak"),
  peakBytes: tracker.peakBytes(),
  modules: tracker.modules(),
  text: [tracker.displaySnapshot("peak", "KiB", true), tracker.displayModulewiseSnapshots(9, "B")],
});

type Run = (exported: unknown, options: TraceStepOptions) => Promise<Trace>;
const on =
  (backend: string): Run =>
  async (exported, options) => {
    await tf.setBackend(backend);
    return traceStep(exported, options);
  };
const runs: Readonly<Record<string, Run>> = {
  "real, on cpu": on("cpu"),
  "real, on wasm": on("wasm"),
  "fake, as on tensorflow": (exported, options) => traceFakeStep(exported, { ...options, backend: "tensorflow" }),
  "fake, as on wasm": (exported, options) => traceFakeStep(exported, { ...options, backend: "wasm" }),
};

describe.each(["transformer", "lstm", "shared-layers"])("memory of %s, asked while it trains", (name) => {
  it.each(Object.entries(runs))("is that of the written and re-read trace, at every module (%s)", async (_, run) => {
    let live: MemTracker | undefined;
    const asked: { readonly events: number; readonly answers: unknown }[] = [];
    const trace = await run(await exampleNamed(name), {
      size: "tiny",
      optimizer: "adam",
      steps: 2,
      stepsBefore: 0,
      onStart: (recorder) => (live = trackLive(recorder)),
      onProgress: () => {
        const tracker = live as MemTracker;
        asked.push({ events: tracker.eventCount, answers: answers(tracker) });
      },
    });
    const file = reread(trace);
    const follower = new MemTracker({ secondIteration: "reset" });
    for (const { events, answers: then } of asked) expect(answers(follower.update(file, events))).toEqual(then);
    const tracker = live as MemTracker;
    const whole = trackMemory(file);
    expect(answers(tracker)).toEqual(answers(whole));
    expect(tracker.peakMoment()).toEqual(whole.peakMoment());
    // It was asked in the middle, not only at the end.
    expect(asked.length).toBeGreaterThan(4);
    expect(new Set(asked.map(({ events }) => events)).size).toBe(asked.length);
    expect(asked[0].events).toBeLessThan(trace.events.count / 4);
  });
});
