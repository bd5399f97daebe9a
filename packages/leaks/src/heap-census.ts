import { Tensor } from "@tensorflow/tfjs-core";

/** What JavaScript can still reach, and what it and all else take: after all garbage was collected. */
export interface HeapCensus {
  readonly tensors: readonly Tensor[];
  /** Arrays of numbers, those that `data` and `dataSync` give among them; none where they were not asked for. */
  readonly arrays: readonly ArrayBufferView[];
  readonly heapBytes: number;
  /** Of arrays, outside JavaScript's heap. */
  readonly arrayBytes: number;
  /** Of the process; undefined in a worker thread, which is not alone in it. */
  readonly residentBytes: number | undefined;
}

/** Takes a census; undefined where that fails. */
export type TakeCensus = (withArrays: boolean) => HeapCensus | undefined;

interface InspectorSession {
  connect(): void;
  disconnect(): void;
  post(method: string, given: object, told: (error: unknown, result: never) => void): void;
}
interface Host {
  readonly process?: {
    getBuiltinModule?(name: "node:inspector"): { readonly Session?: new () => InspectorSession } | undefined;
    getBuiltinModule?(name: "node:worker_threads"): { readonly isMainThread: boolean };
    memoryUsage(): { heapUsed: number; arrayBuffers: number; rss: number };
  };
}

/** Where the inspector finds what we ask it for, and leaves what it has found. */
const key: symbol = Symbol.for("remat.leaks.census");
const place = 'globalThis[Symbol.for("remat.leaks.census")]';

interface Exchange {
  readonly prototypes: readonly object[];
  found: readonly object[];
}

/**
 * Returns what takes a census of this thread at once, in the midst of running code, by V8's inspector, which a `FinalizationRegistry` and a `WeakRef` cannot; undefined where there
 * is none, as in a browser.
 */
export function heapCensus(): TakeCensus | undefined {
  const { process } = globalThis as Host;
  if (process?.getBuiltinModule === undefined) return undefined;
  // A Node may be built without an inspector.
  const Session = process.getBuiltinModule("node:inspector")?.Session;
  if (Session === undefined) return undefined;
  const { isMainThread } = process.getBuiltinModule("node:worker_threads");
  return (withArrays) => {
    let session: InspectorSession | undefined;
    const exchange: Exchange = {
      prototypes: [Tensor.prototype, Object.getPrototypeOf(Uint8Array.prototype) as object],
      found: [],
    };
    const at = globalThis as unknown as Record<symbol, Exchange | undefined>;
    try {
      at[key] = exchange;
      session = new Session();
      session.connect();
      const tensors = objectsOf(session, exchange, 0);
      const arrays = withArrays ? objectsOf(session, exchange, 1) : [];
      const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
      return {
        tensors: tensors as Tensor[],
        arrays: arrays as unknown as ArrayBufferView[],
        heapBytes: heapUsed,
        arrayBytes: arrayBuffers,
        residentBytes: isMainThread ? rss : undefined,
      };
    } catch {
      // A thread that is ending, or one that may not be inspected: nothing is told.
      return undefined;
    } finally {
      delete at[key];
      disconnect(session);
    }
  };
}

function disconnect(session: InspectorSession | undefined): void {
  try {
    session?.disconnect();
  } catch {
    // It was never connected.
  }
}

/** Those that have one of the prototypes, once what nothing can reach is collected. */
function objectsOf(session: InspectorSession, exchange: Exchange, prototype: number): readonly object[] {
  const ask = (method: string, given: object): unknown => {
    let answer: unknown;
    session.post(method, given, (error, result) => {
      if (error != null) throw error as Error;
      answer = result;
    });
    return answer;
  };
  const group = { objectGroup: "remat" };
  const of = ask("Runtime.evaluate", { expression: `${place}.prototypes[${prototype}]`, ...group }) as {
    readonly result: { readonly objectId: string };
  };
  const found = ask("Runtime.queryObjects", { prototypeObjectId: of.result.objectId, ...group }) as {
    readonly objects: { readonly objectId: string };
  };
  ask("Runtime.callFunctionOn", {
    objectId: found.objects.objectId,
    functionDeclaration: `function () { ${place}.found = Array.from(this); }`,
  });
  ask("Runtime.releaseObjectGroup", group);
  const { found: objects } = exchange;
  exchange.found = [];
  return objects;
}
