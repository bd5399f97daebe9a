import { isPlanNode, type PlanOp } from "./plan-op.js";
import type { TensorType } from "./tensor-type.js";

/** Returns a hash of lines as 16 hexadecimal digits. */
export function fingerprintOf(lines: Iterable<string>): string {
  // Two 32-bit lanes of multiply and xor, as in cyrb53.
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (const line of lines) {
    for (let i = 0; i <= line.length; i++) {
      const code = i < line.length ? line.charCodeAt(i) : lineEnd;
      a = Math.imul(a ^ code, 0x9e3779b1);
      b = Math.imul(b ^ code, 0x5f356495);
    }
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return [a, b].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}

/** No code unit has this value, so it cannot occur inside a line. */
const lineEnd = 0x10000;

/**
 * Returns the fingerprint of the ops of a plan, in order. A plan fits a trace with the same fingerprint.
 *
 * @example
 * fingerprintOfOps(opOccurrences(trace)) === plan.subject.fingerprint;
 */
export function fingerprintOfOps(ops: Iterable<PlanOp>): string {
  return fingerprintOf(fieldsOf(ops));
}

/** Yields every field as a line of its own. Lists are preceded by their length. */
function* fieldsOf(ops: Iterable<PlanOp>): Generator<string, void, undefined> {
  const shapes = new Map<TensorType, string>();
  for (const op of ops) {
    if (isPlanNode(op)) {
      yield op.name;
      yield op.inputs.join();
      yield op.outputBytes.join();
      yield String(op.cost);
      continue;
    }
    yield op.module === undefined ? "" : `.${op.module}`;
    yield `${op.phase} ${op.call} ${op.ordinal} ${op.outputs.length}`;
    yield op.kernel;
    for (const type of op.outputs) {
      let shape = shapes.get(type);
      if (shape === undefined) shapes.set(type, (shape = type.shape.join()));
      yield type.dtype;
      yield shape;
    }
  }
}
