import type { OpDone } from "@remat/dispatch-hook";
import { phaseNames } from "@remat/trace";

const occurrence = /^.* (\w+) (\S+) \d+: (.*)$/s;

/**
 * What of an occurrence (trace rule T9) an op can be compared with as it runs: phase, kernel, and what the outputs look like. A plan names all ops
 * in their order, so the module call and the ordinal in it follow from where the op stands.
 *
 * @internal
 */
export function expectedOp(planned: string): { phase: string; text: string } {
  const [, phase = "", kernel = "", outputs = ""] = occurrence.exec(planned) ?? [];
  return { phase, text: `${phase} ${kernel}: ${outputs}` };
}

/** The same of an op that has run. @internal */
export function foundOp({ phase, kernel, outputs }: OpDone): string {
  let text = `${phaseNames[phase]} ${kernel}:`;
  for (const { dtype, shape } of outputs) text += ` ${dtype}[${shape.join(",")}]`;
  return outputs.length === 0 ? `${text} ` : text;
}
