import type { Tensor } from "@tensorflow/tfjs-core";
import type { EngineInternals, KernelParameters } from "./engine-internals.js";
import type { GradientScope, SavedTensor } from "./engine-records.js";
import { reportSaved } from "./saved-tensors.js";
import type { Session } from "./session.js";

let nextScopeSequence = 0;

/** Names of tidies that do not describe their contents. */
const anonymous: ReadonlySet<string> = new Set(["", "unnamed scope", "forward", "backward"]);

/** Tensors saved by `customGrad` functions of running scopes. */
const savedByScope = new WeakMap<GradientScope, { tensor: Tensor; clone: Tensor }[]>();

/** Runs a `customGrad` as a scope around its ops, since its gradient belongs to it as a whole (T1). @internal */
export function runScope(
  session: Session,
  parameters: KernelParameters,
  run: EngineInternals["runKernelFunc"],
): Tensor | Tensor[] {
  const { modes } = session;
  const around = session.scope;
  const scope: GradientScope = {
    sequence: nextScopeSequence++,
    name: scopeName(session.engine.state.activeScope?.name),
    parent: around,
    inputs: Object.values(parameters.inputs),
  };
  session.scope = scope;
  for (const open of modes.listeners("scopeEntered")) if (modes.isInside(open)) open.mode.scopeEntered(scope);
  let outputs: readonly Tensor[] | undefined;
  try {
    const output = run.call(session.engine, parameters);
    outputs = [output].flat();
    const saved = savedByScope.get(scope);
    if (saved !== undefined)
      reportSaved(
        session,
        saved.map((pair) => describe(session, scope, outputs!, pair)),
      );
    return output;
  } finally {
    for (const open of modes.listeners("scopeExited")) if (modes.isInside(open)) open.mode.scopeExited(scope, outputs);
    session.scope = around;
  }
}

/** Watches `engine.clone`, through which every tensor is saved for the backward pass (engine rule 2). @internal */
export function patchClone(session: Session): void {
  session.patches.patch(session.engine, "clone", (original) => (x) => {
    const { scope, modes } = session;
    const asksWhoClones = session.isWatching || session.pass?.sharesSaved === true || modes.told.kernelOver.length > 0;
    if (!asksWhoClones) return original.call(session.engine, x);
    const around = session.kernel.isCloning;
    session.kernel.isCloning = true;
    try {
      const clone = original.call(session.engine, x);
      if (scope !== undefined && session.kernel.finishing === undefined) {
        const saved = savedByScope.get(scope);
        if (saved === undefined) savedByScope.set(scope, [{ tensor: x, clone }]);
        else saved.push({ tensor: x, clone });
      }
      return clone;
    } finally {
      session.kernel.isCloning = around;
    }
  });
}

/** TensorFlow.js ops run in a tidy with their name. */
function scopeName(name = ""): string {
  const op = name.endsWith("__op") ? name.slice(0, -"__op".length) : name;
  return anonymous.has(op) ? "customGrad" : op;
}

/** A saved tensor may be a reshaped input or output, so storages are compared. */
function describe(
  { storages }: Session,
  scope: GradientScope,
  outputs: readonly Tensor[],
  { tensor, clone }: { tensor: Tensor; clone: Tensor },
): SavedTensor {
  const [storage] = storages.storagesOf(tensor);
  const isOneOf = (others: readonly Tensor[]) =>
    others.includes(tensor) || others.some((other) => storages.storagesOf(other)[0] === storage);
  const as = isOneOf(scope.inputs) ? "input" : isOneOf(outputs) ? "output" : "other";
  return { op: undefined, scope, as, tensor, clone };
}
