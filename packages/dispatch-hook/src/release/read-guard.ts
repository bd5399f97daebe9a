import { Phase, RematError } from "@remat/trace";
import type { DataId, Tensor, TensorInfo } from "@tensorflow/tfjs-core";
import type { DispatchInterceptor } from "../dispatch-interceptor.js";
import type { DataObserver } from "../dispatch-observer.js";
import type { KernelInputs } from "../kernels/index.js";
import type { Session } from "../session.js";

/**
 * Rejects reading a weight in a backward pass after it was updated there, because unmodified TensorFlow.js would read
 * the old value. Saved tensors contain the old value. Only a gradient function that accesses a variable directly would
 * get the new one.
 *
 * @internal
 */
export class ReadGuard implements DispatchInterceptor, DataObserver {
  private readonly ids = new Set<number>();
  private readonly dataIds = new Set<DataId>();

  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** From here on `variable` has a new value. */
  updated({ id, dataId }: Tensor): void {
    this.ids.add(id);
    this.dataIds.add(dataId);
  }

  opComing(kernel: string, inputs: KernelInputs): void {
    if (this.session.phase === Phase.optimizer || this.session.replaying !== undefined) return;
    const named = inputs as Readonly<Record<string, TensorInfo | readonly TensorInfo[] | undefined>>;
    for (const name of Object.keys(named)) {
      const input = named[name];
      for (const each of Array.isArray(input) ? (input as TensorInfo[]) : [input as TensorInfo | undefined])
        if (each !== undefined && this.ids.has((each as Tensor).id)) throw readTooLate(kernel, each as Tensor);
    }
  }

  tensorRead(dataId: DataId): void {
    if (this.session.phase === Phase.backward && this.dataIds.has(dataId)) throw readTooLate("JavaScript");
  }
}

function readTooLate(reader: string, variable?: Tensor & { readonly name?: string }): RematError {
  return new RematError(
    "UPDATE_IN_BACKWARD",
    `${reader} reads ${variable === undefined ? "a weight" : `the weight '${variable.name ?? variable.id}'`} after ` +
      "its update in the backward pass, so your gradient function would see the new value. " +
      "Restore saved weights, and remove updateInBackward or save that tensor for the gradient.",
  );
}
