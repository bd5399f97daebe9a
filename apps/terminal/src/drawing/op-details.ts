import type { TimeFormat } from "@remat/reporting";
import { phaseNames, type Trace } from "@remat/trace";
import type { Glyphs } from "../text/glyphs.js";
import type { Line, Span } from "../text/line.js";

/** Lists everything that the trace contains about an op. */
export function opDetails(trace: Trace, op: number, formatTime: TimeFormat, glyphs: Glyphs): readonly Line[] {
  const { ops } = trace;
  const name: Span = { text: `op ${op} ${trace.opName(op)}`, style: "strong" };
  const field = (label: string, text: string): Line => [{ text: `${label} `, style: "faint" }, { text }];
  const attributes = JSON.stringify(trace.opAttributes(op));
  const forward = ops.forwardOp[op];
  return [
    [{ text: glyphs.horizontal.repeat(4), style: "faint" }, { text: " " }, name],
    field("module ", `${trace.opModule(op)?.fqn ?? "(none)"}, ${phaseNames[ops.phase[op]]}`),
    field("inputs ", tensorList(trace, trace.opInputs(op))),
    field("outputs", tensorList(trace, trace.opOutputs(op))),
    ...(attributes === "{}" ? [] : [field("with   ", attributes)]),
    field(
      "cost   ",
      `${formatTime(ops.runtimeMs[op])}, ${count(ops.flops[op])} FLOPs, ${count(ops.bytesRead[op])} B read, ${count(ops.bytesWritten[op])} B written`,
    ),
    ...(forward < 0 ? [] : [field("differentiates", `op ${forward} ${trace.opName(forward)}`)]),
  ];
}

function count(value: number): string {
  return Number.isNaN(value) ? "?" : value.toExponential(2).replace(/e\+0$/, "");
}

function tensorList(trace: Trace, tensors: Int32Array): string {
  return Array.from(tensors, (tensor) => `${trace.tensorDtype(tensor)}[${trace.tensorShape(tensor).join(",")}]`).join(
    "  ",
  );
}
