import { util } from "@tensorflow/tfjs-core";
import { override, type Undo, undoAll } from "./override.js";

/**
 * TensorFlow.js fills arrays in JavaScript before it makes tensors of them: zeros, ones, random numbers, dropout masks,
 * `tf.buffer`. These arrays come from two functions of tfjs-core that call `new Float32Array(size)` and similar
 * constructors.
 *
 * While fills are skipped, the constructors return arrays without elements to these two functions, and only to them, if
 * more than this many elements are requested. The loops that would fill them then do nothing. Smaller arrays are filled
 * as usual. The constructors keep their prototypes, so `instanceof` works. Only `array.constructor === Float32Array`
 * fails while fills are skipped.
 */
const filledElements = 1024;

const constructors = { float32: "Float32Array", int32: "Int32Array", bool: "Uint8Array" } as const;

type TypedArrayConstructor = new (...args: unknown[]) => object;

/** How many users skip fills now. */
let skipping = 0;
/** How many users run fills in the meantime. */
let suspended = 0;

/** Returns whether fills are skipped now. @internal */
export const areFillsSkipped = (): boolean => skipping > 0 && suspended === 0;

/** Places in tfjs-core's code that make arrays to be filled, learned by calling them. */
const fillSites = new Set<string>();
let learning = false;

interface V8Error {
  captureStackTrace?(target: object, below: unknown): void;
  prepareStackTrace?: unknown;
  stackTraceLimit?: number;
}

interface Frame {
  getFunctionName(): string | null;
  getScriptNameOrSourceURL(): string;
  getLineNumber(): number;
  getColumnNumber(): number;
}

/**
 * Function names, if they survive bundling. They also cover other copies of tfjs-core (`@tensorflow/tfjs` has its own).
 */
const fillMakers = /^(makeZerosTypedArray|getArrayFromDType)(\$\d+)?$/;
const anyFillMaker = "fill";

function placeOf(_: unknown, [frame]: Frame[]): string {
  if (frame === undefined) return "";
  if (fillMakers.test(frame.getFunctionName() ?? "")) return anyFillMaker;
  return `${frame.getScriptNameOrSourceURL()}:${frame.getLineNumber()}:${frame.getColumnNumber()}`;
}

/** Returns the place in the code that called `below`. */
function callerOf(below: unknown): string {
  const v8 = Error as V8Error;
  if (v8.captureStackTrace === undefined) return new Error().stack?.split("\n")[2] ?? "";
  const { prepareStackTrace, stackTraceLimit } = v8;
  const holder = { stack: "" };
  v8.stackTraceLimit = 1;
  v8.prepareStackTrace = placeOf;
  try {
    v8.captureStackTrace(holder, below);
    return holder.stack;
  } finally {
    v8.stackTraceLimit = stackTraceLimit as number;
    v8.prepareStackTrace = prepareStackTrace;
  }
}

function standInFor(Real: TypedArrayConstructor): unknown {
  function StandIn(wanted?: unknown, ...more: unknown[]): object {
    if (new.target === undefined) throw new TypeError(`Constructor ${Real.name} requires 'new'`);
    if (learning) fillSites.add(callerOf(StandIn));
    else if (
      typeof wanted === "number" &&
      wanted > filledElements &&
      suspended === 0 &&
      fillSites.has(callerOf(StandIn))
    )
      return new Real(0);
    if (new.target === StandIn && more.length === 0) return new Real(wanted);
    return Reflect.construct(Real, [wanted, ...more], new.target === StandIn ? Real : new.target) as object;
  }
  StandIn.prototype = Real.prototype as object;
  Object.setPrototypeOf(StandIn, Real);
  Object.defineProperty(StandIn, "name", { value: Real.name, configurable: true });
  return StandIn;
}

function learnFillSites(): void {
  learning = true;
  try {
    for (const dtype of Object.keys(constructors) as (keyof typeof constructors)[]) {
      util.makeZerosTypedArray(1, dtype);
      util.getArrayFromDType(dtype, 1);
    }
  } finally {
    learning = false;
  }
}

/** Skips large fills until the returned function is called. @internal */
export function skipFills(): Undo {
  const undos: Undo[] = [];
  const global = globalThis as unknown as Record<string, TypedArrayConstructor>;
  for (const name of Object.values(constructors)) undos.push(override(globalThis, name, standInFor(global[name])));
  if (fillSites.size === 0) learnFillSites();
  fillSites.add(anyFillMaker);
  skipping++;
  undos.push(() => {
    skipping--;
  });
  return () => undoAll(undos);
}

/** Runs fills even if they are skipped, until the returned function is called. @internal */
export function runFills(): Undo {
  suspended++;
  return () => {
    suspended--;
  };
}
