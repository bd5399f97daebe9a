// Runs in a thread that answers what-if questions about a model's step, because tracing runs the model's code.
import { parentPort, workerData } from "node:worker_threads";
import { answerUsualWhatIfs, answerWhatIf, type PresentStep } from "@remat/fit";
import type { WhatIfRow } from "@remat/reporting";
import { priceTrace } from "@remat/runtime-estimator";
import { Trace, type TraceParts } from "@remat/trace";
import { loadTrace } from "../load-trace.js";
import type { TracingRequest } from "../terminal/trace-worker.js";
import { presentStep } from "./present-step.js";

/** A question. Without one, the usual questions are answered. */
export interface WhatIfOrder extends Pick<PresentStep, "device" | "pricedFor"> {
  readonly id: number;
  readonly question: string | undefined;
  /** Parts of the `Trace` of the step as it is, if available. */
  readonly parts?: object;
}

/** A row of the answer, an error, or the end. */
export type WhatIfReport = { readonly id: number } & (
  | { readonly kind: "row"; readonly row: WhatIfRow }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "done" }
);

// This file is only run by `new Worker`.
if (parentPort !== null) {
  const port = parentPort;
  const tell = (report: WhatIfReport): void => port.postMessage(report);
  const { source, options } = workerData as TracingRequest;
  const silent = { show() {} };
  let traced: Promise<Trace> | undefined;
  let steps: PresentStep["steps"] | undefined;
  const step = async (parts: object | undefined): Promise<Trace> =>
    parts === undefined ? loadTrace(source, options, silent) : new Trace(parts as TraceParts);
  const answer = async ({ id, question, device, pricedFor, parts }: WhatIfOrder): Promise<void> => {
    try {
      const trace = priceTrace(await (traced ??= step(parts)), pricedFor);
      const pricing = { device: pricedFor, isAsked: true };
      steps ??= (await presentStep(trace, { source, options, pricing }, silent)).steps;
      const present = { trace, steps, device, pricedFor };
      if (question !== undefined) tell({ id, kind: "row", row: await answerWhatIf(present, question) });
      else for await (const row of answerUsualWhatIfs(present)) tell({ id, kind: "row", row });
      tell({ id, kind: "done" });
    } catch (error) {
      tell({ id, kind: "failed", message: (error as Error).message });
    }
  };
  // One after the other, since there is one engine.
  let last = Promise.resolve();
  port.on("message", (order: WhatIfOrder) => {
    last = last.then(() => answer(order));
  });
}
