import { bytesPerElement, elementsOf, type FailureCause } from "@remat/trace";

/** The contents of an out-of-memory error. */
export interface MemoryError {
  /** The kind of memory that ran out. */
  readonly cause: FailureCause;
  /** The dtype of the requested tensor, if the message names it. */
  readonly dtype?: string;
  /** The shape of the requested tensor, if the message names it. */
  readonly shape?: readonly number[];
  /** The requested bytes, if the message names them. */
  readonly askedBytes?: number;
}

/** TensorFlow's names of dtypes that differ from remat's. */
const dtypes: Readonly<Record<string, string>> = { float: "float32", double: "float64", half: "float16" };

/**
 * Reads an error message that begins with the name of the error. Returns undefined if it is not about memory. The
 * kernels of WebAssembly fail with `RuntimeError: memory access out of bounds` after their `malloc` found no memory.
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
/** The maximum length of a shape in the text. No tensor has so many dimensions that its shape is longer. */
const mostListed = 1024;

/** Parses the tensor that TensorFlow names: `OOM when allocating tensor with shape[2,3] and type float`. */
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

/** Matches Emscripten's `abort(…)` with its reason. */
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
