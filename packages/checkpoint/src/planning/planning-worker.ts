// The planning thread. It plans one pass, sends the result, and is then ended.
import type { PlanningAnswer } from "../planning-thread.js";
import { buffersOf } from "./buffers-of.js";
import { type PlanningRequest, planWithin } from "./plan-within.js";

/** The part of a worker's port that is used, in Node and in a browser. */
interface Port {
  postMessage(answer: PlanningAnswer, transfer: ArrayBuffer[]): void;
  once?(kind: "message", hear: (request: PlanningRequest) => void): void;
  onmessage?: ((event: { readonly data: PlanningRequest }) => void) | null;
}

const { process } = globalThis as {
  readonly process?: {
    getBuiltinModule?(name: "node:worker_threads"): { readonly parentPort: Port | null } | undefined;
  };
};
const port = process?.getBuiltinModule?.("node:worker_threads")?.parentPort ?? (globalThis as unknown as Port);

const plan = async (request: PlanningRequest): Promise<void> => {
  const planned = await planWithin(request);
  port.postMessage({ planned }, buffersOf(planned));
};

if (port.once !== undefined) port.once("message", (request) => void plan(request));
else port.onmessage = ({ data }) => void plan(data);
