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
  const kernel = /OOM when allocating tensor with shape ?\[([\d, ]*)\](?: and type (\w+))?/.exec(message);
  if (kernel !== null) {
    const [, list, type = "float"] = kernel;
    const shape = list === "" ? [] : list.split(",").map(Number);
    const dtype = dtypes[type] ?? type;
    const size = bytesPerElement(dtype);
    return {
      cause: "kernel",
      dtype,
      shape,
      ...(size !== undefined && { askedBytes: size * elementsOf(shape) }),
    };
  }
  for (const [cause, said] of otherErrors) if (said.test(message)) return { cause };
  return undefined;
}

const otherErrors: readonly (readonly [FailureCause, RegExp])[] = [
  ["kernel", /\bRESOURCE_EXHAUSTED\b|ran out of memory trying to allocate|std::bad_alloc|failed to allocate memory/i],
  ["heap", /JavaScript heap out of memory|JS heap out of memory|ERR_WORKER_OUT_OF_MEMORY/],
  ["array", /Array buffer allocation failed|Invalid array buffer length|Invalid typed array length: \d{9}/],
  [
    "wasm",
    /memory access out of bounds|Cannot enlarge memory|WebAssembly\.Memory|Aborted\(OOM\)|abort\(.*(?:OOM|enlarge memory)/,
  ],
];
