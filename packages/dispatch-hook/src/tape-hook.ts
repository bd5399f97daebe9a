import { Phase } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import { findBackend } from "./backends/index.js";
import { contribute, enterNode, insideNode, leaveNode } from "./backward-pass.js";
import { problemOfCopies } from "./check-copies.js";
import type { EngineInternals, EngineTapeNode } from "./engine-internals.js";
import type { GradientsCall, GradientsResult, TapeNode } from "./engine-records.js";
import { replaceGradient } from "./gradients/replace-gradient.js";
import type { GradientsPass } from "./gradients-pass.js";
import { gradientsReleasingEarly } from "./release/gradients-releasing-early.js";
import { PrunedTape } from "./release/pruned-tape.js";
import { updateInBackwardOf } from "./release/update-in-backward.js";
import type { Session } from "./session.js";
import { askModes, isWanted } from "./wanted-of-pass.js";

let nextNodeSequence = 0;

/** Watches the tape, and which code runs when gradients are computed (engine rule 2). @internal */
export function patchTape(session: Session): void {
  const { engine, patches, modes } = session;

  patches.patch(engine, "addTapeNode", (original) => (kernelName, inputs, outputs, gradient, saved, attributes) => {
    original.call(engine, kernelName, inputs, outputs, gradient, saved, attributes);
    const added = engine.state.activeTape?.at(-1);
    if (!session.alive || added === undefined) return;
    if (session.pass !== undefined && gradient == null) replaceGradient(added, attributes, session.pass.wanted);
    const node = session.isWatching && modes.watchesTape ? watchNode(session, added) : undefined;
    session.pass?.prunedTape?.add(added);
    if (node === undefined) return;
    for (const open of modes.listeners("tapeNodeAdded")) if (modes.isInside(open)) open.mode.tapeNodeAdded(node);
  });

  patches.patch(engine, "gradients", (original) => (forward, xs, dy, allowNoGradients = false) => {
    const stock = (call: GradientsCall) =>
      original.call(engine, call.forward, [...call.xs], call.dy, call.allowNoGradients);
    const call: GradientsCall = {
      forward,
      xs,
      dy: dy ?? undefined,
      allowNoGradients,
      minimization: minimizationOf(session),
    };
    return runGradients(session, call, stock);
  });

  patches.patch(engine, "endScope", (original) => {
    // Another wrapper must see the scopes of fake mode as well.
    const isOfEngine = original === (Object.getPrototypeOf(engine) as EngineInternals).endScope;
    return (result) => {
      const prunedTape = session.pass?.prunedTape;
      const id = prunedTape === undefined ? undefined : engine.state.activeScope?.id;
      if (!isOfEngine || engine.backendInstance?.endScope?.(result) !== true) original.call(engine, result);
      if (id !== undefined) prunedTape?.scopeEnded(id);
    };
  });

  // Only `gradients` opens a tidy with this name directly after its function has returned.
  patches.patch(engine, "tidy", (original) => (nameOrFn, fn) => {
    const { pass } = session;
    if (nameOrFn !== "backward" || fn === undefined || !pass?.awaitsBackward) {
      const result = original.call(engine, nameOrFn, fn);
      // This is the tidy around the last gradient of a node, whose temporaries are gone now.
      if (session.pass?.nodeOver && session.node === session.pass.aroundNode) leaveNode(session);
      return result;
    }
    pass.awaitsBackward = false;
    session.setPhase(Phase.backward);
    return original.call(engine, nameOrFn, () => {
      const result = tellingFailure(session, fn) as GradientsResult;
      leaveNode(session);
      for (const open of modes.listeners("gradientsDone"))
        if (modes.isInside(open)) open.mode.gradientsDone(pass.xs, result.grads);
      return result;
    });
  });
}

function minimizationOf({ update }: Session): object | undefined {
  const { minimizer, tfjsComputes, tfjsUpdates } = update;
  if (minimizer === undefined || minimizer.optimizer.computeGradients !== tfjsComputes) return undefined;
  return tfjsUpdates.has(minimizer.optimizer.applyGradients) ? minimizer : undefined;
}

function tellingFailure<T>({ modes }: Session, run: () => T): T {
  const listeners = modes.listeners("passFailed");
  if (listeners.length === 0) return run();
  try {
    return run();
  } catch (error) {
    for (const open of listeners) if (modes.isInside(open)) open.mode.passFailed(error);
    throw error;
  }
}

function runGradients(
  session: Session,
  call: GradientsCall,
  stock: (call: GradientsCall) => GradientsResult,
): GradientsResult {
  const { engine, modes } = session;
  const isInner = engine.state.gradientDepth > 0;
  const problem = isInner ? undefined : problemOfCopies(call.xs);
  if (problem !== undefined) {
    if (!modes.standBack(problem)) throw problem;
    return stock(call);
  }
  const phaseBefore = session.phase;
  const pass: GradientsPass = {
    around: session.pass,
    aroundNode: session.node,
    awaitsBackward: false,
    node: undefined,
    gradients: [],
    nodeOver: false,
    reached: new Set(),
    // An inner pass uses the outer pass's tape.
    prunedTape: isInner ? session.pass?.prunedTape : undefined,
    wanted: { sharesOnes: false, fasterGradients: undefined },
    sharesSaved: false,
    xs: call.xs,
    contribution: undefined,
  };
  session.pass = pass;
  if (pass.around === undefined) {
    modes.passStarting();
    modes.askWhoDozes();
  }
  // A pass inside a gradient function is a recomputation, not part of the forward pass.
  const inBackward = phaseBefore === Phase.backward || phaseBefore === Phase.recompute;
  session.setPhase(inBackward ? Phase.recompute : Phase.forward);
  const watched: GradientsCall = {
    ...call,
    forward: () => {
      // Called as a plain function, so that the program's stack traces show the same name as without remat.
      const { forward } = call;
      const y = tellingFailure(session, forward);
      if (!isInner) {
        pass.prunedTape?.forwardEnded();
        pass.prunedTape = undefined;
      }
      pass.awaitsBackward = true;
      return y;
    },
  };
  const chain = modes.listeners("gradients").filter((open) => modes.isInside(open));
  const from = (depth: number, asked: GradientsCall): GradientsResult => {
    const open = chain[depth];
    if (open !== undefined) return open.mode.gradients(asked, (other = asked) => from(depth - 1, other));
    // A mode may have decided on the pass only when the pass was announced to it.
    askModes(session, pass);
    pass.sharesSaved = isWanted(modes, "sharesSaved");
    if (isWanted(modes, "prunesSaved") && !isInner) pass.prunedTape = new PrunedTape(engine, asked.xs);
    if (!isWanted(modes, "releasesEarly")) return stock(asked);
    // Fake mode has these kernels, and simulates backends under its own names.
    findBackend(engine.backendName ?? "none").provideGradientKernels?.();
    const update = isInner || pass.around !== undefined ? undefined : updateInBackwardOf(session, asked);
    const refuse = (y: Tensor) => stock({ ...asked, forward: () => y });
    return gradientsReleasingEarly(asked, () => stock(asked), refuse, update);
  };
  try {
    return from(chain.length - 1, watched);
  } finally {
    leaveNode(session);
    session.pass = pass.around;
    if (pass.around === undefined) {
      session.producers.clear();
      modes.passOver();
      modes.askWhoDozes();
    }
    // Inside `minimize` the weight update follows, unless this was a gradient inside its loss function.
    const updatesNext = session.update.depth > 0 && pass.around === undefined;
    session.setPhase(updatesNext ? Phase.optimizer : phaseBefore);
  }
}

class RecordedNode implements TapeNode {
  readonly kind: TapeNode["kind"];
  readonly op: TapeNode["op"];
  readonly scope: TapeNode["scope"];
  private readonly added: EngineTapeNode;
  readonly sequence: number = nextNodeSequence++;
  readonly outputs: readonly Tensor[];

  constructor(kind: TapeNode["kind"], op: TapeNode["op"], scope: TapeNode["scope"], added: EngineTapeNode) {
    this.kind = kind;
    this.op = op;
    this.scope = scope;
    this.added = added;
    this.outputs = added.outputs;
  }

  /** Some kernels have a list of tensors instead of a map, and optional inputs may be missing. */
  get inputs(): readonly Tensor[] {
    return Object.values(this.added.inputs).filter((tensor) => tensor != null);
  }

  get saved(): readonly Tensor[] {
    return this.added.saved ?? [];
  }
}

function watchNode(session: Session, added: EngineTapeNode): TapeNode {
  const op = session.kernel.finishing;
  const kind = session.kernel.isCloning ? "clone" : op === undefined ? "scope" : "op";
  const node = new RecordedNode(kind, op, op === undefined ? session.scope : undefined, added);
  session.producers.add(node);
  wrapGradient(session, added, node);
  return node;
}

/**
 * Attributes kernels of a node's gradient to that node. They run in the gradient function and in the functions that it
 * returns.
 */
function wrapGradient(session: Session, added: EngineTapeNode, node: TapeNode): void {
  const { gradient } = added;
  if (gradient === undefined) return;
  // Called on the engine's copy of the node, which has only the inputs that depend on an x.
  added.gradient = function (this: EngineTapeNode | undefined, dys) {
    if (!session.alive) return gradient(dys);
    const inputs = this?.inputs ?? added.inputs;
    const last = Object.keys(inputs).at(-1);
    enterNode(session, node, dys);
    const dxs = insideNode(session, node, () => gradient(dys));
    if (dxs === null || typeof dxs !== "object") return dxs;
    const wrapped: Record<string, () => Tensor> = {};
    for (const name of Object.keys(dxs)) {
      wrapped[name] = () => {
        const dx = insideNode(session, node, () => dxs[name]());
        contribute(session, node, { name, input: inputs[name], gradient: dx }, name === last);
        return dx;
      };
    }
    return wrapped;
  };
}
