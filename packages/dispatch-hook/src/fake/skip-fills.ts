import { util } from "@tensorflow/tfjs-core";
import { override, type Undo, undoAll } from "./override.js";

/**
 * tfjs fills arrays in JavaScript before it makes a tensor of them: zeros, ones, random numbers, dropout masks, `tf.buffer`. All these
 * arrays come from two functions of tfjs-core, which call `new Float32Array(size)` and its like. While fills are skipped these
 * constructors give arrays without elements to those two functions, and only to them, if more than this many elements are wanted; the
 * loops that would fill them then have nothing to do. Smaller arrays are made and filled as ever. The constructors keep their prototypes,
 * so that `instanceof` holds as ever; only `array.constructor === Float32Array` does not while fills are skipped.
 */
export const filledElements = 1024;

const constructors = { float32: "Float32Array", int32: "Int32Array", bool: "Uint8Array" } as const;

type TypedArrayConstructor = new (...args: unknown[]) => object;

/** How many ask for fills to be skipped, and how many for them to be run for the time being. */
let skipping = 0;
let suspended = 0;

/** @internal */
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

/** Several copies of tfjs-core may be loaded (`@tensorflow/tfjs` has one of its own): where names survive, they tell. */
const fillMakers = /^(makeZerosTypedArray|getArrayFromDType)(\$\d+)?$/;
const anyFillMaker = "fill";

function placeOf(_: unknown, [frame]: Frame[]): string {
  if (frame === undefined) return "";
  if (fillMakers.test(frame.getFunctionName() ?? "")) return anyFillMaker;
  return `${frame.getScriptNameOrSourceURL()}:${frame.getLineNumber()}:${frame.getColumnNumber()}`;
}

/** The place in the code that called `below`. */
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

/** Skips large fills until the function returned is called. @internal */
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

/** Has fills run, though somebody skips them, until the function returned is called. @internal */
export function runFills(): Undo {
  suspended++;
  return () => {
    suspended--;
  };
}
