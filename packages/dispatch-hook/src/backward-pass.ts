import type { Tensor } from "@tensorflow/tfjs-core";
import type { InputGradient, KernelInputs, TapeNode } from "./dispatch-mode.js";
import type { Session } from "./session.js";

/** One call of `engine.gradients` while it runs. @internal */
export interface GradientsPass {
  readonly around: GradientsPass | undefined;
  /** The node whose gradient function called `gradients`, if any. */
  readonly aroundNode: TapeNode | undefined;
  /** The forward function has returned; the next `tidy('backward')` is the engine's. */
  awaitsBackward: boolean;
  node: TapeNode | undefined;
  gradients: InputGradient[];
  /** The node's last gradient is computed and needs no Add: the node is over once the tidy around that gradient is. */
  nodeOver: boolean;
  /** Ids of tensors that have got a gradient. */
  readonly reached: Set<number>;
  /** Ids of tensors to which an x leads, while a tape grows on which only what will be read stays saved. */
  followers: Set<number> | undefined;
  /** Whether the ones of gradients are views of one array. */
  readonly sharesOnes: boolean;
  /** Whether what is saved is on the data that it was saved of. */
  readonly sharesSaved: boolean;
  readonly xs: readonly Tensor[];
  /** The gradient just computed: an Add that comes next, outside every node, accumulates it. */
  contribution: { readonly consumer: TapeNode; readonly input: Tensor | undefined; readonly last: boolean } | undefined;
}

/** The Add that accumulates a gradient belongs to the producer of the accumulated tensor (T5). @internal */
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

/** @internal */
export function enterNode(session: Session, node: TapeNode, dys: readonly (Tensor | undefined)[]): void {
  const { pass, modes } = session;
  if (pass === undefined) return;
  leaveNode(session);
  pass.node = node;
  pass.contribution = undefined;
  for (const open of modes.listeners("backwardNodeEntered"))
    if (modes.isInside(open)) open.mode.backwardNodeEntered(node, dys);
}

/** @internal */
export function leaveNode({ pass, modes }: Session): void {
  if (pass?.node === undefined) return;
  const { node, gradients } = pass;
  pass.node = undefined;
  pass.nodeOver = false;
  pass.gradients = [];
  for (const open of modes.listeners("backwardNodeExited"))
    if (modes.isInside(open)) open.mode.backwardNodeExited(node, gradients);
}

/** `node` has computed the gradient of its input `name`; `last` says whether it is asked for more. @internal */
export function contribute(
  { pass }: Session,
  node: TapeNode,
  name: string,
  input: Tensor | undefined,
  dx: Tensor,
  last: boolean,
): void {
  if (pass?.node !== node) return;
  pass.gradients.push({ name, input, gradient: dx });
  const isAdded = input !== undefined && pass.reached.has(input.id);
  pass.contribution = isAdded ? { consumer: node, input, last } : undefined;
  pass.nodeOver = last && !isAdded;
  if (input !== undefined) pass.reached.add(input.id);
}

/** Runs code of `node`'s gradient: kernels in it differentiate the node. @internal */
export function insideNode<T>(session: Session, node: TapeNode, run: () => T): T {
  const around = session.node;
  session.node = node;
  try {
    return run();
  } finally {
    session.node = around;
  }
}
