import { Tensor, util } from "@tensorflow/tfjs-core";
import { type EngineInternals, type EngineTapeNode, engineInternals } from "../engine-internals.js";
import type { GradientsCall, GradientsResult } from "../engine-records.js";
import { earlyFrees } from "./early-frees.js";
import { OwnedGradients, type ScopedTensor } from "./owned-gradients.js";
import { nodesFromTo } from "./tape-path.js";
import type { BackwardUpdate } from "./update-in-backward.js";

/**
 * Runs the engine's forward and backward pass, but frees each saved tensor and each gradient after its last use. Saved
 * tensors and leftovers of a gradient function are freed when their node ends. A gradient is freed when no remaining
 * node reads it or adds to it.
 *
 * Kernels run in the same order as in unmodified TensorFlow.js, with the same errors and bitwise identical gradients.
 * An inner pass of a higher-order gradient runs unmodified (`stock`), since the outer pass needs the tape to the end. A
 * gradient function may itself compute gradients, so the outer tape is restored (engine rule 4). If something throws,
 * saved tensors are freed as well.
 *
 * @param refuse makes the engine differentiate a tensor that depends on no x
 * @param update an update in the backward pass, which handles each x when its gradient is final
 *
 * @internal
 */
export function gradientsReleasingEarly(
  call: GradientsCall,
  stock: () => GradientsResult,
  refuse: (y: Tensor) => GradientsResult,
  update?: BackwardUpdate,
): GradientsResult {
  const engine = engineInternals();
  const { state } = engine;
  // TensorFlow.js rejects these calls before it runs anything.
  const isRefused = call.xs.length === 0 || (call.dy != null && call.dy.dtype !== "float32");
  if (isRefused || state.gradientDepth > 0) return stock();
  const tapeAround = state.activeTape;
  let isDone = false;
  try {
    const y = runForward(engine, call);
    const tape = state.activeTape as unknown as EngineTapeNode[];
    const path = nodesFromTo(tape, call.xs, y);
    // TensorFlow.js reports this error itself, without running anything again.
    if (!call.allowNoGradients && path.length === 0) return refuse(y);
    earlyFrees.areRunning = true;
    disposeSavedOutside(tape, path);
    earlyFrees.areRunning = false;
    const result = engine.tidy("backward", () => runBackward(engine, call, y, path, update)) as GradientsResult;
    isDone = true;
    return result;
  } finally {
    // Not a `catch`, since Node would then report this line as the source of the program's error.
    if (!isDone) for (const { saved } of state.activeTape ?? []) for (const tensor of saved ?? []) tensor.dispose();
    state.activeTape = isInsideBackward(tapeAround) ? tapeAround : null;
    earlyFrees.areRunning = false;
  }
}

const { assert } = util;

/** Tapes of backward passes that wait for a gradient function inside them. */
const waitingTapes = new WeakSet<object>();
const isInsideBackward = (tape: object | null): boolean => tape !== null && waitingTapes.has(tape);

function runForward(engine: EngineInternals, call: GradientsCall): Tensor {
  let y: Tensor;
  engine.startTape();
  try {
    y = engine.tidy("forward", call.forward) as Tensor;
  } finally {
    engine.endTape();
  }
  assert(y instanceof Tensor, () => "The result y returned by f() must be a tensor.");
  return y;
}

/** Disposes of tensors saved by nodes that do not lead from an x to y, which have no reader. */
function disposeSavedOutside(tape: readonly EngineTapeNode[], path: readonly EngineTapeNode[]): void {
  const needed = new Set<number>();
  for (const { id } of path) needed.add(id);
  for (const { id, saved } of tape) if (!needed.has(id)) for (const tensor of saved ?? []) tensor.dispose();
}

function runBackward(
  engine: EngineInternals,
  { xs, dy }: GradientsCall,
  y: Tensor,
  path: readonly EngineTapeNode[],
  update: BackwardUpdate | undefined,
): GradientsResult {
  const { state } = engine;
  const ownScopes = new Set<number>([activeScopeId(engine)]);
  const gradients = new OwnedGradients(ownScopes);
  gradients.set(y.id, dy ?? onesLike(engine, y));
  const lastOf = nodesAfterWhichGradientsGo(path, xs);
  const tape = state.activeTape as EngineTapeNode[];
  const runNodes = (nodeOver?: (final: readonly Tensor[]) => void): void => {
    // Gradients are made in the scope in which the pass runs.
    ownScopes.add(activeScopeId(engine));
    const finalAfter = nodeOver && xsByLastNode(path, xs);
    for (let at = path.length - 1; at >= 0; at--) {
      const node = path[at];
      runNode(engine, node, gradients, ownScopes);
      earlyFrees.areRunning = true;
      for (const id of lastOf[at]) gradients.delete(id);
      for (const saved of node.saved ?? []) gradients.releaseSaved(saved);
      earlyFrees.areRunning = false;
      nodeOver?.(finalAfter?.get(at) ?? []);
    }
  };
  waitingTapes.add(tape);
  try {
    const updated = canUpdate(xs, y, path) ? update : undefined;
    if (updated === undefined) runNodes();
    else updated.run(xs, xsOn(path, xs), gradients, runNodes);
  } finally {
    waitingTapes.delete(tape);
  }
  // Unmodified TensorFlow.js would return these disposed.
  for (const saved of gradients.remainingSaved) {
    saved.kept = false;
    engine.track(saved);
  }
  // A consumed gradient is returned disposed. The caller is `minimize`, which only disposes of it again.
  return { value: y, grads: xs.map((x) => (gradients.get(x.id) ?? update?.consumedOf(x)) as Tensor) };
}

/** Returns whether each x is a leaf, and y is a result that `minimize` accepts. */
function canUpdate(xs: readonly Tensor[], y: Tensor, path: readonly EngineTapeNode[]): boolean {
  if (y.rank !== 0 || path.length === 0) return false;
  const ids = new Set(xs.map(({ id }) => id));
  return !ids.has(y.id) && !path.some(({ outputs }) => outputs.some(({ id }) => ids.has(id)));
}

/** The ids of the xs that get a gradient. */
const xsOn = (path: readonly EngineTapeNode[], xs: readonly Tensor[]): Set<number> =>
  new Set([...xsByLastNode(path, xs).values()].flat().map(({ id }) => id));

/** For each node, the xs whose gradients no earlier node in the tape adds to. */
function xsByLastNode(path: readonly EngineTapeNode[], xs: readonly Tensor[]): ReadonlyMap<number, readonly Tensor[]> {
  const waiting = new Map(xs.map((x) => [x.id, x]));
  const byNode = new Map<number, Tensor[]>();
  path.forEach(({ inputs }, at) => {
    const final: Tensor[] = [];
    for (const { id } of Object.values(inputs)) {
      const x = waiting.get(id);
      if (x !== undefined && waiting.delete(id)) final.push(x);
    }
    if (final.length > 0) byNode.set(at, final);
  });
  return byNode;
}

const activeScopeId = ({ state }: EngineInternals): number => state.activeScope?.id ?? -1;

function onesLike(engine: EngineInternals, { size, shape }: Tensor): Tensor {
  return engine.makeTensor(util.makeOnesTypedArray(size, "float32"), shape, "float32");
}

/**
 * For each node, the tensors whose gradients no earlier node in the tape reads or adds to. Gradients of the xs are
 * results.
 */
function nodesAfterWhichGradientsGo(path: readonly EngineTapeNode[], xs: readonly Tensor[]): number[][] {
  const known = new Set<number>();
  for (const { id } of xs) known.add(id);
  return path.map((node) => {
    const going: number[] = [];
    for (const { id } of [...node.outputs, ...Object.values(node.inputs)]) {
      if (known.has(id)) continue;
      known.add(id);
      going.push(id);
    }
    return going;
  });
}

function runNode(
  engine: EngineInternals,
  node: EngineTapeNode,
  gradients: OwnedGradients,
  ownScopes: Set<number>,
): void {
  const dys = node.outputs.map(({ id }) => gradients.get(id) ?? null);
  if (node.gradient == null)
    throw new Error(`Cannot compute gradient: gradient function not found for ${node.kernelName}.`);
  // Temporaries of the gradient function, outside of the functions it returns, would stay until the end of the pass.
  engine.startScope();
  const scopeId = activeScopeId(engine);
  ownScopes.add(scopeId);
  const results: Tensor[] = [];
  try {
    const functions = node.gradient(dys as Tensor[]);
    for (const name in node.inputs) {
      if (!(name in functions))
        throw new Error(`Cannot backprop through input ${name}. Available gradients found: ${Object.keys(functions)}.`);
      const dx = engine.tidy(() => functions[name]()) as Tensor;
      const x = node.inputs[name];
      checkGradient(node.kernelName, name, dx, x);
      const sum = gradients.get(x.id);
      gradients.set(x.id, sum === undefined ? dx : (engine.runKernel("Add", { a: sum, b: dx }) as Tensor));
      results.push(gradients.get(x.id) as Tensor);
    }
  } finally {
    earlyFrees.areRunning = true;
    engine.endScope(
      results.filter((tensor) => gradients.isHeld(tensor) && (tensor as ScopedTensor).scopeId === scopeId),
    );
    earlyFrees.areRunning = false;
    ownScopes.delete(scopeId);
  }
}

function checkGradient(kernel: string, name: string, dx: Tensor, x: Tensor): void {
  if (dx.dtype !== "float32")
    throw new Error(
      `Error in gradient for op ${kernel}. The gradient of input ${name} must have 'float32' dtype, but has '${dx.dtype}'`,
    );
  if (!util.arraysEqual(dx.shape, x.shape))
    throw new Error(
      `Error in gradient for op ${kernel}. The gradient of input '${name}' has shape '${dx.shape}', which does not match the shape of the input '${x.shape}'`,
    );
}
