import { phaseNames } from "@remat/trace";
import type { Tensor, TensorInfo } from "@tensorflow/tfjs-core";
import { type DispatchMode, type OpCall, type Storage, storagesOf, type TapeNode } from "../src/index.js";

/** A mode that logs every event in a line. Storages are numbered in the order in which they are first seen. */
export function eventLog(): { mode: DispatchMode; lines: string[] } {
  const lines: string[] = [];
  const numbers = new Map<Storage, number>();
  const number = (storage: Storage) => {
    if (!numbers.has(storage)) numbers.set(storage, numbers.size);
    return `s${numbers.get(storage)}`;
  };
  const on = (tensor: TensorInfo) => storagesOf(tensor).map(number).join("+");
  const all = (tensors: readonly (TensorInfo | undefined)[]) => tensors.map((t) => (t == null ? "-" : on(t))).join(",");
  const mode: DispatchMode = {
    opDone(op) {
      const attribution = op.accumulatesFrom
        ? ` adds ${nameOf(op.accumulatesFrom)} for ${nameOf(op.differentiates)}`
        : op.differentiates
          ? ` of ${nameOf(op.differentiates)}`
          : "";
      lines.push(`${phaseNames[op.phase]} ${describe(op)}(${all(op.inputTensors)}) = ${all(op.outputs)}${attribution}`);
    },
    opFailed: (op) => lines.push(`failed ${op.kernel}`),
    storageAllocated: (storage, origin) => lines.push(`+${number(storage)} ${storage.bytes} ${origin}`),
    storageReleased: (storage) => lines.push(`-${number(storage)}`),
    scopeEntered: (scope) => lines.push(`{ ${scope.name}`),
    scopeExited: (scope) => lines.push(`} ${scope.name}`),
    tensorsSaved: (saved) => lines.push(`save ${saved.map((s) => `${s.as} ${on(s.clone)}`).join(", ")}`),
    phaseChanged: (phase) => lines.push(`phase ${phaseNames[phase]}`),
    backwardNodeEntered: (node, dys) => lines.push(`node ${nameOf(node)} dy ${all(dys)}`),
    backwardNodeExited: (node, gradients) =>
      lines.push(`done ${nameOf(node)} ${gradients.map(({ name, gradient }) => `d${name} ${on(gradient)}`).join(" ")}`),
    gradientsDone: (_, grads) => lines.push(`gradients ${all(grads)}`),
    variableAssigned: (variable, made) => lines.push(`${made ? "make" : "assign"} ${variable.name} ${on(variable)}`),
    optimizerStepDone: () => lines.push("step"),
  };
  return { mode, lines };
}

const describe = (op: OpCall) => (op.scope === undefined ? op.kernel : `${op.scope.name}/${op.kernel}`);

export function nameOf(node: TapeNode | undefined): string {
  if (node === undefined) return "nothing";
  const of = node.op?.kernel ?? node.scope?.name;
  return node.kind === "clone" ? `clone for ${of}` : String(of);
}

/** Bytes that live now in the buffers of `tensors`, each buffer once. */
export const liveBytes = (tensors: readonly Tensor[]): number =>
  [...new Set(tensors.flatMap((t) => storagesOf(t)))].reduce((sum, { bytes }) => sum + bytes, 0);
