import {
  currentBackend,
  type DispatchMode,
  type NamedTensor,
  type OpCall,
  registeredVariables,
  type Storage,
  storagesOf,
  withModeAlone,
} from "@remat/dispatch-hook";
import { fakeMode } from "@remat/fake";
import {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  backend,
  MomentumOptimizer,
  type NamedTensorMap,
  type Optimizer,
  RMSPropOptimizer,
  SGDOptimizer,
  type Variable,
} from "@tensorflow/tfjs-core";
import type { MemoryMeter } from "../memory-meter.js";

/** Their state is in fields, and in lists of variables: a copy can take a step that the optimizer does not feel. */
const copiedOptimizers: ReadonlySet<unknown> = new Set([
  SGDOptimizer,
  MomentumOptimizer,
  AdagradOptimizer,
  AdadeltaOptimizer,
  AdamOptimizer,
  AdamaxOptimizer,
  RMSPropOptimizer,
]);

/**
 * The most bytes that `count` updates of the weights in a row hold at once beyond what is there: new weights, temporaries, and the slots that the first
 * one makes. Told before they run, by a rehearsal in fake mode with a copy of the optimizer. A kernel's own scratch is outside. What the updates will
 * read counts for `meter` from here on. Undefined for an optimizer that is none of tfjs's own.
 *
 * @internal
 */
export function updateBytes(
  optimizer: object,
  gradients: NamedTensorMap | readonly NamedTensor[],
  meter: MemoryMeter,
  count = 1,
): number | undefined {
  if (!copiedOptimizers.has(optimizer.constructor)) return undefined;
  const rehearsal = new Rehearsal(ownBytes(), meter);
  const copy = copyOf(optimizer as Optimizer);
  const update = () => {
    for (let i = 0; i < count; i++) copy.applyGradients(gradients as NamedTensorMap);
  };
  withModeAlone(rehearsal, () => fakeMode(update, { backend: currentBackend() }));
  return rehearsal.mostBytes;
}

/** Of the gradients, of which some may be missing. @internal */
export function bytesIn(gradients: NamedTensorMap | readonly NamedTensor[]): number {
  const tensors = Array.isArray(gradients)
    ? (gradients as readonly NamedTensor[]).map(({ tensor }) => tensor)
    : Object.values(gradients as NamedTensorMap);
  return tensors.reduce((sum, tensor) => sum + (tensor?.size ?? 0) * 4, 0);
}

/** Of the variables whose data goes when they get other data, the bytes of it. */
function ownBytes(): Map<Variable, number> {
  const bytes = new Map<Variable, number>();
  for (const variable of registeredVariables()) {
    if (backend().refCount(variable.dataId) !== 1) continue;
    bytes.set(
      variable,
      storagesOf(variable).reduce((sum, storage) => sum + storage.bytes, 0),
    );
  }
  return bytes;
}

function copyOf(optimizer: Optimizer): Optimizer {
  const copy = Object.create(Object.getPrototypeOf(optimizer) as object) as Record<string, unknown>;
  for (const [key, value] of Object.entries(optimizer)) copy[key] = Array.isArray(value) ? value.slice() : value;
  return copy as unknown as Optimizer;
}

/** Counts what is made; data that variables had before stays in fake mode, and goes in earnest. */
class Rehearsal implements DispatchMode {
  mostBytes = 0;
  private bytes = 0;
  private readonly made = new Set<Storage>();

  constructor(
    private readonly ownBytes: Map<Variable, number>,
    private readonly meter: MemoryMeter,
  ) {}

  opStarting(op: OpCall): void {
    this.meter.opStarting(op);
  }

  storageAllocated(storage: Storage, origin: string): void {
    this.made.add(storage);
    this.bytes += storage.bytes;
    if (origin === "data") this.note();
  }

  storageReleased(storage: Storage): void {
    if (this.made.delete(storage)) this.bytes -= storage.bytes;
  }

  opDone(): void {
    this.note();
  }

  variableAssigned(variable: Variable): void {
    this.bytes -= this.ownBytes.get(variable) ?? 0;
    this.ownBytes.delete(variable);
  }

  private note(): void {
    if (this.bytes > this.mostBytes) this.mostBytes = this.bytes;
  }
}
