// Runs in a thread that does long work for views.
import { parentPort } from "node:worker_threads";
import { Trace, type TraceParts } from "@remat/trace";
import type { ViewWork } from "../state/work.js";
import { doWork } from "./do-work.js";
import type { WorkOrder, WorkReport } from "./work-messages.js";

/** Number of traces to keep. An app seldom shows more than two, each as it is and as planned. */
const mostTraces = 5;

type DoOrder = Extract<WorkOrder, { kind: "do" }>;

if (parentPort !== null) {
  const port = parentPort;
  const traces = new Map<number, Trace>();
  const running = new Map<number, AbortController>();
  const tell = (report: WorkReport): void => port.postMessage(report);
  port.on("message", (order: WorkOrder) => {
    switch (order.kind) {
      case "trace":
        traces.set(order.number, new Trace(order.parts as TraceParts));
        if (traces.size > mostTraces) traces.delete(traces.keys().next().value as number);
        return;
      case "stop":
        return running.get(order.id)?.abort();
      case "do":
        return void begin(order);
    }
  });

  const wholeWork = ({ work, trace, planned, other }: DoOrder): ViewWork => {
    const whole = {
      ...work,
      ...(trace !== undefined && { trace: traces.get(trace) }),
      ...(planned !== undefined && { planned: traces.get(planned) }),
    } as ViewWork;
    if (other === undefined || !("of" in whole)) return whole;
    return { ...whole, of: { ...whole.of, other: { ...whole.of.other!, trace: traces.get(other)! } } };
  };
  const begin = async (order: DoOrder): Promise<void> => {
    const { id, timeMs, work } = order;
    const controller = new AbortController();
    running.set(id, controller);
    // Pending messages come first, so that only the last of many requests is left.
    await new Promise((resolve) => setImmediate(resolve));
    if (work.kind !== "planModule" || !controller.signal.aborted)
      await doWork(wholeWork(order), {
        timeMs,
        signal: controller.signal,
        answer: (answer) => {
          const { trace: _trace, stats: _stats, ...rest } = { trace: undefined, stats: undefined, ...answer };
          tell({ id, answer: rest as WorkReport["answer"] & object });
        },
      });
    running.delete(id);
    tell({ id });
  };
}
