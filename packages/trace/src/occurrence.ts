import type { TensorType } from "./tensor-type.js";
import type { PhaseName } from "./vocabulary.js";

/** What can be told of an op as it runs, wherever it stands. */
export interface OpSignature {
  readonly phase: PhaseName;
  /** tfjs kernel name, or `aten.addmm.default`. */
  readonly kernel: string;
  readonly outputs: readonly TensorType[];
}

/** An op as it is found again in another run of the same model (rule T9): its signature, and where it stands. */
export interface Occurrence extends OpSignature {
  /** Fully qualified name of the innermost module; undefined outside every module. */
  readonly module: string | undefined;
  /** How many calls of that module came before; 0 outside. */
  readonly call: number;
  /** How many ops of this kernel came before in that call and phase. */
  readonly ordinal: number;
}

/**
 * Writes an occurrence, or the signature of an op, for a person to read. Names that could be mistaken for something else are quoted as in JSON, so
 * that what differs reads differently; nothing parses this text.
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

/** Tells whether two occurrences are the same, field by field. */
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

/** Tells whether outputs have the same dtypes and shapes; makes no text, since executors ask this for every op of every step. */
export function haveSameTypes(a: readonly TensorType[], b: readonly TensorType[]): boolean {
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

/** What reads as one word, and as nothing else: no space, bracket, quote or invisible character. */
const plainName = /^[^\s"[\]\p{C}]+$/u;

function quoteName(name: string): string {
  return plainName.test(name) && name !== "-" ? name : JSON.stringify(name);
}
