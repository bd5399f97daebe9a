import { Tensor } from "@tensorflow/tfjs-core";

/** The tensors and arrays that JavaScript can still reach after a full garbage collection, and the memory in use. */
export interface HeapCensus {
  /** All reachable tensors. */
  readonly tensors: readonly Tensor[];
  /** Typed arrays, including those that `data` and `dataSync` returned. Empty unless requested. */
  readonly arrays: readonly ArrayBufferView[];
  /** JavaScript heap in use. */
  readonly heapBytes: number;
  /** Memory of arrays outside the JavaScript heap. */
  readonly arrayBytes: number;
  /** Resident memory of the process, or undefined in a worker thread, which shares its process. */
  readonly residentBytes: number | undefined;
}

/** Takes a census. Returns undefined if that fails. */
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

/** Global symbol through which the inspector exchanges objects with this module. */
const key: symbol = Symbol.for("remat.leaks.census");
const place = 'globalThis[Symbol.for("remat.leaks.census")]';

interface Exchange {
  readonly prototypes: readonly object[];
  found: readonly object[];
}

/**
 * Returns a function that takes a census of this thread synchronously, in the middle of running code, using V8's
 * inspector. A `FinalizationRegistry` or a `WeakRef` could not do that. Undefined if there is no inspector, as in a
 * browser.
 */
export function heapCensus(): TakeCensus | undefined {
  const { process } = globalThis as Host;
  if (process?.getBuiltinModule === undefined) return undefined;
  // Node may be built without an inspector.
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
      // The thread is ending or may not be inspected, so there is no census.
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

/** Objects with one of the prototypes, after collecting unreachable ones. */
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
