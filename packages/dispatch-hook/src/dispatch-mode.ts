import type { DispatchInterceptor } from "./dispatch-interceptor.js";
import type { DispatchObserver } from "./dispatch-observer.js";
import type { DispatchPolicy } from "./dispatch-policy.js";

/**
 * A layer over the TensorFlow.js engine, like PyTorch's `TorchDispatchMode` over ATen. A mode plays one or more roles:
 * it observes ({@link DispatchObserver}, or the short `StepObserver`), intercepts ({@link DispatchInterceptor}), or
 * sets a policy ({@link DispatchPolicy}). Every member is optional.
 *
 * Ops, storages and the tape are watched only while an open mode has a method that reports them. Otherwise ops run at
 * the speed of unmodified TensorFlow.js. A mode that opens in the middle of a pass gets no events of what came before.
 *
 * Memory that a kernel allocates and frees inside itself is reported between `opStarting` and `opDone` of its op.
 * Kernels that a mode runs in its `dispatch` belong to the op.
 *
 * @example
 * const names: string[] = [];
 * withDispatchMode({ opDone: (op) => names.push(op.kernel) }, () => tf.tidy(() => tf.relu(tf.add(a, b)).sum().dispose()));
 */
export interface DispatchMode extends DispatchObserver, DispatchInterceptor, DispatchPolicy {}

/** Closes a mode; a second call does nothing. */
export type CloseMode = () => void;
