import { buffersOf } from "./planning/buffers-of.js";
import type * as PlanWithin from "./planning/plan-within.js";
import type { PlannedPass, PlanningRequest, UnplannedPass } from "./planning/plan-within.js";

/** @internal */
export interface PlanningAnswer {
  readonly planned: PlannedPass | UnplannedPass;
}

/** As much as is needed of a worker, in Node and in a browser. */
interface Thread {
  postMessage(request: PlanningRequest, transfer: ArrayBuffer[]): void;
  terminate(): unknown;
  ref?(): void;
  unref?(): void;
  on?(kind: string, hear: (told: never) => void): void;
  onmessage?: ((event: { readonly data: PlanningAnswer }) => void) | null;
  onerror?: ((event: { preventDefault(): void }) => void) | null;
}
type ThreadConstructor = new (file: URL, options: { readonly type: "module"; readonly execArgv?: string[] }) => Thread;

/** Of a page, where there are workers. Bundlers know by the call what file to make of it. */
declare const Worker: ThreadConstructor;

interface Host {
  readonly process?: {
    getBuiltinModule?(name: "node:worker_threads"): { readonly Worker: ThreadConstructor };
    getBuiltinModule?(name: "node:fs"): { existsSync(file: URL): boolean };
  };
}

/** Loading code takes its time, and so may a step that is too large: after so many times what planning has, it is ended. */
const patience = 2;

/** A plan that is being made. @internal */
export interface Planning {
  /** Undefined where it has come to no end in time. */
  readonly planned: Promise<PlannedPass | UnplannedPass | undefined>;
  /** The process shall not end before it is over. */
  ref(): void;
  /** Ends it, and frees all that it holds: what has not been planned will not be. */
  end(): void;
}

/**
 * Plans a pass in a thread of its own, to which Node hands over the columns of its trace: they are gone from the request. What the thread holds is freed when it
 * is over. Where there can be no threads, as in a test of the sources, it plans in this one, in slices.
 *
 * @internal
 */
export function planBeside(request: PlanningRequest): Planning {
  const thread = startThread();
  if (thread === undefined) return { planned: planHere(request), ref() {}, end() {} };
  let end = (): void => {};
  const planned = new Promise<PlannedPass | UnplannedPass | undefined>((resolve) => {
    const timer = setTimeout(() => end(), patience * request.planningMs);
    (timer as { unref?(): void }).unref?.();
    const settle = (pass?: PlannedPass | UnplannedPass | Promise<PlannedPass | UnplannedPass>): void => {
      clearTimeout(timer);
      // In Node a promise: then all that the thread held is free.
      resolve(Promise.resolve(thread.terminate()).then(() => pass));
    };
    end = settle;
    if (thread.on !== undefined) {
      thread.on("message", (answer: PlanningAnswer) => settle(answer.planned));
      thread.on("error", () => settle());
      thread.on("exit", () => settle());
    } else {
      thread.onmessage = ({ data }) => settle(data.planned);
      // A page's bundler may have left out the thread's file.
      thread.onerror = (event) => {
        event.preventDefault();
        settle(planHere(request));
      };
    }
  });
  // A program that is over does not wait for a plan.
  thread.unref?.();
  try {
    thread.postMessage(request, thread.on === undefined ? [] : buffersOf(request.trace));
  } catch {
    // There is no memory left to send it, say.
    end();
  }
  return { planned, ref: () => thread.ref?.(), end: () => end() };
}

let planner: Promise<typeof PlanWithin> | undefined;

/**
 * Loads the planner, once: it is most of what a budget has a page load, and where a worker plans it is in that one's file.
 *
 * @internal
 */
export const loadPlanner = (): Promise<typeof PlanWithin> => (planner ??= import("./planning/plan-within.js"));

async function planHere(request: PlanningRequest): Promise<PlannedPass | UnplannedPass> {
  const { planWithin } = await loadPlanner();
  return planWithin(request);
}

function startThread(): Thread | undefined {
  const { process } = globalThis as Host;
  try {
    if (process?.getBuiltinModule === undefined)
      return typeof Worker === "undefined"
        ? undefined
        : new Worker(new URL("./planning/planning-worker.js", import.meta.url), { type: "module" });
    // Beside the bundle that this file becomes a part of; there is none beside the source. Some bundles do not know where they are.
    const workerFile = new URL("./planning/planning-worker.js", import.meta.url);
    if (!process.getBuiltinModule("node:fs").existsSync(workerFile)) return undefined;
    // What the program was started with, a preload say, is not the thread's.
    return new (process.getBuiltinModule("node:worker_threads").Worker)(workerFile, { type: "module", execArgv: [] });
  } catch {
    // A page may forbid workers, too.
    return undefined;
  }
}
