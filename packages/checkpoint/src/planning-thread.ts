import { buffersOf } from "./planning/buffers-of.js";
import type * as PlanWithin from "./planning/plan-within.js";
import type { PlannedPass, PlanningRequest, UnplannedPass } from "./planning/plan-within.js";

/** Message from the planning thread. @internal */
export interface PlanningAnswer {
  readonly planned: PlannedPass | UnplannedPass;
}

/** The part of a worker that is used, in Node and in a browser. */
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

/** The worker of a web page, if supported. Bundlers recognize this call and emit the worker's file. */
declare const Worker: ThreadConstructor;

interface Host {
  readonly process?: {
    getBuiltinModule?(name: "node:worker_threads"): { readonly Worker: ThreadConstructor };
    getBuiltinModule?(name: "node:fs"): { existsSync(file: URL): boolean };
  };
}

/**
 * Loading code and a step that is too large take extra time. Planning is ended after this multiple of its time limit.
 */
const patience = 2;

/** A plan in the making. @internal */
export interface Planning {
  /** Resolves to undefined if planning did not finish in time. */
  readonly planned: Promise<PlannedPass | UnplannedPass | undefined>;
  /** Keeps the process alive until planning is over. */
  ref(): void;
  /** Ends planning and frees its memory. */
  end(): void;
}

/**
 * Plans a pass in its own thread. In Node the columns of the trace are transferred, so they are gone from the request.
 * The thread's memory is freed when it ends. If threads are not available, as in a test of the sources, planning runs
 * in slices in this thread.
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
      // In Node `terminate` returns a promise. After it the thread's memory is free.
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
  // A program may end without waiting for a plan.
  thread.unref?.();
  try {
    thread.postMessage(request, thread.on === undefined ? [] : buffersOf(request.trace));
  } catch {
    // For example, if memory runs out while sending.
    end();
  }
  return { planned, ref: () => thread.ref?.(), end: () => end() };
}

let planner: Promise<typeof PlanWithin> | undefined;

/**
 * Loads the planner once. It is most of the code that a budget adds to a page. If a worker plans, the code is in the
 * worker's file.
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
    // The worker's file is next to the bundle that contains this file, but not next to the source. Some bundles do not
    // know their location.
    const workerFile = new URL("./planning/planning-worker.js", import.meta.url);
    if (!process.getBuiltinModule("node:fs").existsSync(workerFile)) return undefined;
    // The thread does not inherit the program's options, such as a preload.
    return new (process.getBuiltinModule("node:worker_threads").Worker)(workerFile, { type: "module", execArgv: [] });
  } catch {
    // A page may forbid workers.
    return undefined;
  }
}
