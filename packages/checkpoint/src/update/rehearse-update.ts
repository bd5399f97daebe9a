import {
  type DispatchObserver,
  type OpCall,
  type OpDone,
  registeredVariables,
  type Storage,
  storagesOf,
  type UpdateCall,
  withModeAlone,
} from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { backend, type Optimizer, type Tensor, type Variable } from "@tensorflow/tfjs-core";
import { KeptMemory } from "../kept-memory.js";
import type { MemoryMeter } from "../memory-meter.js";
import { copyOfOptimizer } from "./copy-of-optimizer.js";
import { gradientsIn } from "./gradients-in.js";
import { rehearsalBackend, unknownScratchBytes } from "./rehearsal-backend.js";
import { UpdateFollower } from "./update-follower.js";
import { UpdateRecorder } from "./update-recorder.js";
import type { RehearsedUpdate, UpdateScript } from "./update-script.js";

/**
 * Tells what an update will do before it runs, by two rehearsals in fake mode with copies of the optimizer: the first tells when each tensor is read for
 * the last time, the second frees it then, which proves that nobody reads it later. What the update will read counts for `meter` from here on.
 * Undefined where it cannot be told.
 *
 * @internal
 */
export function rehearseUpdate(call: UpdateCall, meter?: MemoryMeter): RehearsedUpdate | undefined {
  const gradients = gradientsIn(call);
  const recorder = new UpdateRecorder(gradients);
  try {
    rehearse(recorder, call);
    const script = recorder.script();
    const counted = new CountedUpdate(meter, script, call.ownsGradients ? gradients : []);
    rehearse(counted, call);
    return counted.isAsRehearsed ? { script, mostBytes: counted.mostBytes } : undefined;
  } catch {
    // What stock refuses it shall refuse itself, and where fake mode lacks a kernel the update runs as in stock.
    return undefined;
  }
}

/**
 * Returns the most bytes that updates hold at once in stock beyond what is there, and what stays of the first: the slots. When the second begins they are all there.
 *
 * @internal
 */
export function stockUpdate(
  call: UpdateCall,
  meter: MemoryMeter,
): { readonly mostBytes: number; readonly slotBytes: number } {
  const counted = new CountedUpdate(meter);
  let slotBytes = 0;
  rehearse(counted, call, 2, () => (slotBytes ||= counted.heldBytes));
  return { mostBytes: counted.mostBytes, slotBytes };
}

function rehearse(
  mode: DispatchObserver,
  { optimizer, method, gradients }: UpdateCall,
  count = 1,
  over: () => void = () => {},
): void {
  const copy = copyOfOptimizer(optimizer as Optimizer);
  const update = () => {
    for (let i = 0; i < count; i++) {
      method.call(copy, gradients);
      over();
    }
  };
  withModeAlone(mode, () => fakeMode(update, { backend: rehearsalBackend() }));
}

const bytesOf = (tensor: Tensor): number => storagesOf(tensor).reduce((sum, { bytes }) => sum + bytes, 0);

/** Of the variables whose data goes when they get other data, the bytes of it. */
function ownBytes(): Map<Variable, number> {
  const bytes = new Map<Variable, number>();
  for (const variable of registeredVariables())
    if (backend().refCount(variable.dataId) === 1) bytes.set(variable, bytesOf(variable));
  return bytes;
}

/** As an executor does before and after each op. */
const settle = (): void => KeptMemory.here()?.settle();

/** Counts what is made; gradients, and data that variables had before, stay in fake mode, and go in earnest. */
class CountedUpdate implements DispatchObserver {
  private most = 0;
  private largest = 0;
  private bytes = 0;
  private readonly ownBytes = ownBytes();
  private readonly made = new Set<Storage>();
  private readonly follower: UpdateFollower | undefined;

  private readonly meter: MemoryMeter | undefined;

  constructor(meter: MemoryMeter | undefined, script?: UpdateScript, gradients: readonly (Tensor | undefined)[] = []) {
    this.meter = meter;

    const free = (place: number) => {
      const gradient = gradients[place];
      if (gradient !== undefined && backend().refCount(gradient.dataId) === 1) this.bytes -= bytesOf(gradient);
    };
    this.follower = script && new UpdateFollower(script, free);
  }

  get isAsRehearsed(): boolean {
    return this.follower?.isAsRehearsed === true;
  }

  get mostBytes(): number {
    return this.most + unknownScratchBytes(this.largest);
  }

  /** What it has made and not freed so far. */
  get heldBytes(): number {
    return this.bytes;
  }

  opStarting(op: OpCall): void {
    settle();
    this.meter?.opStarting(op);
  }

  storageAllocated(storage: Storage): void {
    this.made.add(storage);
    this.bytes += storage.bytes;
    if (storage.bytes > this.largest) this.largest = storage.bytes;
    if (this.bytes > this.most) this.most = this.bytes;
  }

  storageReleased(storage: Storage): void {
    if (this.made.delete(storage)) this.bytes -= storage.bytes;
  }

  opOver(op: OpDone): void {
    settle();
    this.follower?.opOver(op);
  }

  variableAssigned(variable: Variable): void {
    this.bytes -= this.ownBytes.get(variable) ?? 0;
    this.ownBytes.delete(variable);
  }
}
