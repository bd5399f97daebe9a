import type { TensorType } from "./tensor-type.js";
import type { PhaseName } from "./vocabulary.js";

/** The properties of an op that are known as it runs, independent of its position. */
export interface OpSignature {
  readonly phase: PhaseName;
  /** The name of a TensorFlow.js kernel, or of an ATen op such as `aten.addmm.default`. */
  readonly kernel: string;
  readonly outputs: readonly TensorType[];
}

/**
 * The signature and position of an op, which identify it in another run of the same model (rule T9 of
 * `ARCHITECTURE.md`).
 */
export interface Occurrence extends OpSignature {
  /** Fully qualified name of the innermost module, or undefined outside of every module. */
  readonly module: string | undefined;
  /** Number of earlier calls of that module, or 0 outside of modules. */
  readonly call: number;
  /** Number of earlier ops of this kernel in the same call and phase. */
  readonly ordinal: number;
}

/**
 * Formats an occurrence, or the signature of an op, for people. Ambiguous names are quoted as in JSON, so that
 * different ops have different texts. No code parses this text.
 *
 * @example
 * formatOccurrence(opOccurrences(trace)[7]); // "layers.0.attention[0] forward BatchMatMul 1: float32[8,12,1024,64]"
 */
export function formatOccurrence(op: Occurrence | OpSignature): string {
  const made = op.outputs.map(({ dtype, shape }) => ` ${quoteName(dtype)}[${shape.join(",")}]`).join("");
  if (!isPlaced(op)) return `${op.phase} ${quoteName(op.kernel)}:${made}`;
  const where = op.module === undefined ? "(outside modules)" : `${quoteName(op.module)}[${op.call}]`;
  return `${where} ${op.phase} ${quoteName(op.kernel)} ${op.ordinal}:${made}`;
}

/** Returns whether two occurrences are equal in all fields. */
export function isSameOccurrence(a: Occurrence, b: Occurrence): boolean {
  return (
    a.module === b.module &&
    a.call === b.call &&
    a.phase === b.phase &&
    a.kernel === b.kernel &&
    a.ordinal === b.ordinal &&
    haveSameTypes(a.outputs, b.outputs)
  );
}

/**
 * Returns whether two lists of outputs have the same dtypes and shapes. It creates no strings, since executors call
 * it for every op of every step.
 */
function haveSameTypes(a: readonly TensorType[], b: readonly TensorType[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const { dtype, shape } = a[i];
    const other = b[i].shape;
    if (dtype !== b[i].dtype || shape.length !== other.length) return false;
    for (let axis = 0; axis < shape.length; axis++) if (shape[axis] !== other[axis]) return false;
  }
  return true;
}

function isPlaced(op: Occurrence | OpSignature): op is Occurrence {
  return "ordinal" in op;
}

/** Names that need no quotes: without spaces, brackets, quotes or invisible characters. */
const plainName = /^[^\s"[\]\p{C}]+$/u;

function quoteName(name: string): string {
  return plainName.test(name) && name !== "-" ? name : JSON.stringify(name);
}
