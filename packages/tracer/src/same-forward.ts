import { type OpIndex, Phase, type Trace } from "@remat/trace";

/** Returns whether two traces have the same forward ops, with outputs of the same shapes. */
export function takesSameForward(a: Trace, b: Trace): boolean {
  const ops = forwardOps(a);
  const others = forwardOps(b);
  return ops.length === others.length && ops.every((op, i) => isSameOp(a, op, b, others[i]));
}

function forwardOps({ ops }: Trace): readonly OpIndex[] {
  const forward: OpIndex[] = [];
  for (let op = 0; op < ops.count; op++) if (ops.phase[op] === Phase.forward) forward.push(op);
  return forward;
}

function isSameOp(a: Trace, op: OpIndex, b: Trace, other: OpIndex): boolean {
  if (a.opName(op) !== b.opName(other)) return false;
  const outputs = a.opOutputs(op);
  const others = b.opOutputs(other);
  return outputs.length === others.length && outputs.every((tensor, i) => isSameShape(a, tensor, b, others[i]));
}

function isSameShape(a: Trace, tensor: number, b: Trace, other: number): boolean {
  const shape = a.tensorShape(tensor);
  const otherShape = b.tensorShape(other);
  return shape.length === otherShape.length && shape.every((size, axis) => size === otherShape[axis]);
}
