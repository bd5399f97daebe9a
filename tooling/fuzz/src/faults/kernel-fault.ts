import * as tf from "@tensorflow/tfjs";

/** A kernel call that fails: the one with that number, before or after it has computed. */
export interface KernelFault {
  readonly call: number;
  readonly moment: "before" | "after";
}

export const faultMessage = "a kernel fails, as it was told to";

/**
 * Kernels of the current backend that can be made to fail. The functions in the registry are replaced, so that they
 * count as the backend's own.
 */
export class FaultyKernels {
  /** True if the fault has occurred. */
  hasFailed = false;
  /** Number of calls so far. */
  calls = 0;
  private isArmed = false;
  private readonly undos: (() => void)[] = [];

  constructor(fault: KernelFault) {
    const backend = tf.getBackend();
    for (const config of tf.getKernelsForBackend(backend)) {
      const { kernelFunc } = config;
      const registered = config as { kernelFunc: tf.KernelFunc };
      registered.kernelFunc = (call) => {
        if (!this.isArmed || this.calls++ !== fault.call) return kernelFunc(call);
        this.hasFailed = true;
        if (fault.moment === "after")
          for (const { dataId } of [kernelFunc(call)].flat()) tf.backend().disposeData(dataId as object);
        throw new Error(faultMessage);
      };
      this.undos.push(() => {
        registered.kernelFunc = kernelFunc;
      });
    }
  }

  /** Starts counting calls from the first, of which one fails. */
  arm(): void {
    this.isArmed = true;
    this.hasFailed = false;
    this.calls = 0;
  }

  restore(): void {
    for (const undo of this.undos) undo();
  }
}
