import { bytesPerElement, elementsOf, type FailureCause } from "@remat/trace";

/** What an error of memory says. */
export interface MemoryError {
  readonly cause: FailureCause;
  /** The tensor that was asked for, where the message names it. */
  readonly dtype?: string;
  readonly shape?: readonly number[];
  readonly askedBytes?: number;
}

/** TensorFlow's names of dtypes where they are not ours. */
const dtypes: Readonly<Record<string, string>> = { float: "float32", double: "float64", half: "float16" };

/**
 * Reads the message of an error, with its name before it, and says what had no memory left; undefined of an error of any other kind. `RuntimeError: memory access out of bounds` is what WebAssembly's
 * kernels come to where its `malloc` had nothing to give.
 *
 * @example
 * readMemoryError("OOM when allocating tensor with shape[2,3] and type float on /device:CPU:0"); // { cause: "kernel", askedBytes: 24, … }
 */
export function readMemoryError(message: string): MemoryError | undefined {
  const kernel = tensorOf(message);
  if (kernel !== undefined) {
    const { shape, dtype } = kernel;
    const size = bytesPerElement(dtype);
    const askedBytes = size === undefined ? Number.NaN : size * elementsOf(shape);
    return {
      cause: "kernel",
      dtype,
      ...(shape.every(Number.isSafeInteger) && { shape }),
      ...(Number.isSafeInteger(askedBytes) && { askedBytes }),
    };
  }
  const [cause] = otherErrors.find(([, isSaid]) => isSaid(message)) ?? [];
  return cause && { cause };
}

const tensorStart = "OOM when allocating tensor with shape";
const typeNext = / and type (\w{1,32})/y;
/** No tensor has more dimensions: a longer list is not read. */
const mostListed = 1024;

/** The tensor that TensorFlow names: `OOM when allocating tensor with shape[2,3] and type float`. */
function tensorOf(message: string): { readonly shape: readonly number[]; readonly dtype: string } | undefined {
  for (let at = message.indexOf(tensorStart); at >= 0; at = message.indexOf(tensorStart, at + 1)) {
    const rest = message.slice(at + tensorStart.length, at + tensorStart.length + mostListed);
    const open = rest.startsWith(" ") ? 1 : 0;
    const close = rest.indexOf("]");
    if (rest[open] !== "[" || close < 0) continue;
    const list = rest.slice(open + 1, close);
    if (!/^[\d, ]*$/.test(list)) continue;
    typeNext.lastIndex = close + 1;
    const [, type = "float"] = typeNext.exec(rest) ?? [];
    return { shape: list === "" ? [] : list.split(",").map(Number), dtype: dtypes[type] ?? type };
  }
  return undefined;
}

type SaysIt = (message: string) => boolean;

const anyOf =
  (pattern: RegExp): SaysIt =>
  (message) =>
    pattern.test(message);

/** Emscripten's `abort(…)`, with its reason after it. */
const abortsForMemory: SaysIt = (message) => {
  const at = message.indexOf("abort(");
  return at >= 0 && (message.includes("OOM", at) || message.includes("enlarge memory", at));
};

const otherErrors: readonly (readonly [FailureCause, SaysIt])[] = [
  [
    "kernel",
    anyOf(/\bRESOURCE_EXHAUSTED\b|ran out of memory trying to allocate|std::bad_alloc|failed to allocate memory/i),
  ],
  ["heap", anyOf(/JavaScript heap out of memory|JS heap out of memory|ERR_WORKER_OUT_OF_MEMORY/)],
  ["array", anyOf(/Array buffer allocation failed|Invalid array buffer length|Invalid typed array length: \d{9}/)],
  ["wasm", anyOf(/memory access out of bounds|Cannot enlarge memory|WebAssembly\.Memory|Aborted\(OOM\)/)],
  ["wasm", abortsForMemory],
];
