import { row, type Trace } from "./trace.js";
import { phaseNames } from "./vocabulary.js";

/**
 * A name for each op of a trace by which it is found again in another run of the same model (rule T9): the innermost module call, the phase,
 * the kernel, how many of these came before in that call, and what the outputs look like.
 *
 * @example
 * opOccurrences(trace)[7]; // "layers.0.attention[0] forward BatchMatMul 1: float32[8,12,1024,64]"
 */
export function opOccurrences(trace: Trace): string[] {
  const { ops, calls, modules } = trace;
  const seen = new Map<string, number>();
  const names: string[] = [];
  for (let op = 0; op < ops.count; op++) {
    const active = trace.opCalls(op);
    const call = active.length === 0 ? -1 : active[active.length - 1];
    const where = call < 0 ? "-" : `${modules[calls.module[call]].fqn}[${calls.number[call]}]`;
    const kind = `${where} ${phaseNames[ops.phase[op]]} ${trace.opName(op)}`;
    const ordinal = seen.get(kind) ?? 0;
    seen.set(kind, ordinal + 1);
    const outputs = Array.from(
      trace.opOutputs(op),
      (tensor) => `${trace.tensorDtype(tensor)}[${row(trace.tensors.shape, tensor).join(",")}]`,
    );
    names.push(`${kind} ${ordinal}: ${outputs.join(" ")}`);
  }
  return names;
}

/** A hash of lines, 16 hexadecimal digits: the same lines give the same, others almost surely another. */
export function fingerprintOf(lines: Iterable<string>): string {
  // Two lanes of multiply and xor (cyrb53's), 32 bits each.
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (const line of lines) {
    for (let i = 0; i <= line.length; i++) {
      const code = i < line.length ? line.charCodeAt(i) : 10;
      a = Math.imul(a ^ code, 0x9e3779b1);
      b = Math.imul(b ^ code, 0x5f356495);
    }
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return [a, b].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}
