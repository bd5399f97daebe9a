import type { Tensor } from "@tensorflow/tfjs-core";
import type { InputGradient, TapeNode } from "./engine-records.js";
import type { KernelInputs } from "./kernels/index.js";
import type { Session } from "./session.js";

/**
 * Returns the nodes around the Add that accumulates a gradient. The Add belongs to the producer of the accumulated
 * tensor (T5). @internal
 */
export function accumulationOf(
  { pass, node, producers }: Session,
  kernel: string,
  inputs: KernelInputs,
): { consumer: TapeNode; producer: TapeNode | undefined; last: boolean } | undefined {
  const contribution = pass?.contribution;
  if (
    pass === undefined ||
    contribution === undefined ||
    node !== pass.aroundNode ||
    kernel !== "Add" ||
    !("b" in inputs)
  )
    return undefined;
  const { consumer, input, last } = contribution;
  pass.contribution = undefined;
  return { consumer, last, producer: input === undefined ? undefined : producers.get(input.id) };
}

/** Starts a node of the backward pass. @internal */
export function enterNode(session: Session, node: TapeNode, dys: readonly (Tensor | undefined)[]): void {
  const { pass, modes } = session;
  if (pass === undefined) return;
  leaveNode(session);
  pass.node = node;
  pass.contribution = undefined;
  for (const open of modes.listeners("backwardNodeEntered"))
    if (modes.isInside(open)) open.mode.backwardNodeEntered(node, dys);
}

/** Ends the running node of the backward pass. @internal */
export function leaveNode({ pass, modes }: Session): void {
  if (pass?.node === undefined) return;
  const { node, gradients } = pass;
  pass.node = undefined;
  pass.nodeOver = false;
  pass.gradients = [];
  for (const open of modes.listeners("backwardNodeExited"))
    if (modes.isInside(open)) open.mode.backwardNodeExited(node, gradients);
}

/**
 * Records that `node` has computed the gradient of one of its inputs. `last` means that no other gradient of the node
 * is requested.
 * @internal
 */
export function contribute({ pass }: Session, node: TapeNode, gradient: InputGradient, last: boolean): void {
  if (pass?.node !== node) return;
  const { input } = gradient;
  pass.gradients.push(gradient);
  const isAdded = input !== undefined && pass.reached.has(input.id);
  pass.contribution = isAdded ? { consumer: node, input, last } : undefined;
  pass.nodeOver = last && !isAdded;
  if (input !== undefined) pass.reached.add(input.id);
}

/** Runs code of `node`'s gradient. Kernels in it differentiate the node. @internal */
export function insideNode<T>(session: Session, node: TapeNode, run: () => T): T {
  const around = session.node;
  session.node = node;
  try {
    return run();
  } finally {
    session.node = around;
  }
}
