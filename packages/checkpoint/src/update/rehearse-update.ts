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
 * Predicts an update by two rehearsals in fake mode on copies of the optimizer. The first shows when each tensor is
 * last read. The second frees it then, which proves that nothing reads it later. `meter` counts the tensors that the
 * update will read. Returns undefined if prediction is not possible.
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
    // The real update reports errors itself. If fake mode lacks a kernel, it runs as in unmodified TensorFlow.js.
    return undefined;
  }
}

/** The updates after the next one, when all slots exist. @internal */
export interface LaterUpdates {
  /** Peak of each in bytes beyond the data that exists before the next update. */
  readonly mostBytes: number;
  /** Bytes of the slots that the next update creates. */
  readonly slotBytes: number;
}

/** No later updates, or unknown ones. @internal */
export const noLaterUpdates: LaterUpdates = { mostBytes: 0, slotBytes: 0 };

/**
 * Predicts the updates after the next one, with the same gradients. They are freed only by the last. `meter` counts the
 * tensors that the update will read. Returns undefined if prediction is not possible.
 *
 * @internal
 */
export function rehearseLaterUpdates(call: UpdateCall, meter: MemoryMeter): LaterUpdates | undefined {
  const gradients = gradientsIn(call);
  const recorder = new UpdateRecorder(gradients);
  try {
    rehearse(recorder, call, 2);
    const counted = new CountedUpdate(meter, recorder.script(), call.ownsGradients ? gradients : []);
    let slotBytes: number | undefined;
    const over = () => {
      if (slotBytes !== undefined) return;
      slotBytes = counted.heldBytes;
      counted.countAgain();
    };
    rehearse(counted, call, 2, over);
    return { mostBytes: counted.mostBytes, slotBytes: slotBytes ?? 0 };
  } catch {
    return undefined;
  }
}

/**
 * Returns the peak of updates in unmodified TensorFlow.js, in bytes beyond existing data, and the bytes that the first
 * update leaves: the slots. They all exist when the second update begins.
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

/** Bytes of each variable whose old data is freed when it gets new data. */
function ownBytes(): Map<Variable, number> {
  const bytes = new Map<Variable, number>();
  for (const variable of registeredVariables())
    if (backend().refCount(variable.dataId) === 1) bytes.set(variable, bytesOf(variable));
  return bytes;
}

/** Executors do the same before and after each op. */
const settle = (): void => KeptMemory.here()?.settle();

/** Counts new tensors. Gradients and old variable data stay in fake mode, but are freed in a real update. */
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

  /** Bytes made and not freed so far. */
  get heldBytes(): number {
    return this.bytes;
  }

  /** Starts the peak again from the bytes that exist now. */
  countAgain(): void {
    this.most = this.bytes;
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
