import {
  type DispatchObserver,
  type OpDone,
  registeredVariables,
  type SavedTensor as SavedForGradient,
  type Storage,
  type StorageOrigin,
  storagesOf,
  withDispatchModeSync,
} from "@remat/dispatch-hook";
import { forwardOnTape } from "@remat/dispatch-hook/release";
import { ModTracker } from "@remat/mod-tracker";
import { RematError } from "@remat/trace";
import { type DataType, type Tensor, tidy, type Variable } from "@tensorflow/tfjs-core";
import type { LayersModel } from "@tensorflow/tfjs-layers";

/** One buffer that autograd keeps alive from the forward to the backward pass. */
export interface SavedTensor {
  /** Shape of the saved tensor. */
  readonly shape: readonly number[];
  /** Its dtype. */
  readonly dtype: DataType;
  /** Size of the buffer in bytes. */
  readonly bytes: number;
  /**
   * Where the data comes from: an op, a weight that exists anyway, or data that JavaScript made or that existed before.
   */
  readonly origin: "op" | "weight" | "data";
  /** The kernel that made the buffer, or the variable's name. */
  readonly madeBy: string | undefined;
  /** FQN of the module that made the buffer. */
  readonly module: string | undefined;
  /** The ops whose gradients need the buffer, in execution order: kernel or composite op, and module. */
  readonly savedFor: readonly { readonly op: string; readonly module: string | undefined }[];
}

/** Options of `savedTensors` and `printSavedTensors`. */
export interface SavedTensorsOptions {
  /** The model whose layers name the modules. */
  readonly model?: LayersModel;
  /**
   * Your own tracker, if the modules are not only layers of a model but also scopes (`ModTracker.scope`). Pass it
   * instead of `model`.
   */
  readonly tracker?: ModTracker;
  /** The tensors to differentiate by. Default: all trainable variables. */
  readonly xs?: readonly Tensor[];
}

/**
 * Returns the tensors that autograd would save for the backward pass of `fn`. It runs `fn` once, without a backward
 * pass, and lists the buffers that the gradients need in the order they are saved. Buffers that no gradient of `xs`
 * needs are left out.
 *
 * @throws RematError `NO_GRADIENT` if the result of `fn` does not depend on any of `xs`
 * @example
 * const held = savedTensors(() => tf.losses.meanSquaredError(y, model.apply(x, { training: true })), { model });
 * const bytes = held.filter(({ origin }) => origin === "op").reduce((sum, { bytes }) => sum + bytes, 0);
 */
export function savedTensors(fn: () => Tensor, options: SavedTensorsOptions = {}): SavedTensor[] {
  const own = options.tracker === undefined ? new ModTracker() : undefined;
  const tracker = options.tracker ?? (own as ModTracker);
  if (own !== undefined && options.model !== undefined) own.track(options.model);
  const observer = new SavedTensorObserver(tracker);
  try {
    return withDispatchModeSync(tracker, () =>
      withDispatchModeSync(observer, () =>
        tidy(() => {
          let held: SavedTensor[] = [];
          // The tidy disposes of the result, but the description is plain data.
          forwardOnTape(fn, options.xs ?? trainableVariables(), ({ saved }) => {
            if (saved.length === 0)
              throw new RematError(
                "NO_GRADIENT",
                "the function's result does not depend on a trainable variable, so no tensors are saved. Pass the tensors whose gradients you want as `xs`.",
              );
            held = observer.describe(saved);
          });
          return held as never;
        }),
      ),
    );
  } finally {
    own?.close();
  }
}

const trainableVariables = (): Variable[] => registeredVariables().filter((variable) => variable.trainable);

interface Maker {
  readonly kernel: string;
  readonly module: string | undefined;
}

class SavedTensorObserver implements DispatchObserver {
  /** Storages of the op that is about to end. */
  private readonly unnamed = new Set<Storage>();
  private readonly makers = new Map<Storage, Maker>();
  private readonly purposes = new Map<Tensor, { readonly op: string; readonly module: string | undefined }>();

  private readonly tracker: ModTracker;

  constructor(tracker: ModTracker) {
    this.tracker = tracker;
  }

  storageAllocated(storage: Storage, origin: StorageOrigin): void {
    if (origin === "op") this.unnamed.add(storage);
  }

  opDone({ kernel, outputs }: OpDone): void {
    const module = this.tracker.activeModule?.fqn;
    for (const output of outputs)
      for (const storage of storagesOf(output))
        if (this.unnamed.delete(storage)) this.makers.set(storage, { kernel, module });
  }

  tensorsSaved(saved: readonly SavedForGradient[]): void {
    const module = this.tracker.activeModule?.fqn;
    for (const { op, scope, clone } of saved)
      this.purposes.set(clone, { op: op?.kernel ?? scope?.name ?? "customGrad", module });
  }

  describe(savedByNode: readonly (readonly Tensor[])[]): SavedTensor[] {
    const weights = new Map<Storage, string>();
    for (const variable of registeredVariables())
      for (const storage of storagesOf(variable)) weights.set(storage, variable.name);
    const rows = new Map<Storage, SavedTensor & { readonly savedFor: { op: string; module: string | undefined }[] }>();
    for (const clone of savedByNode.flat()) {
      const purpose = this.purposes.get(clone);
      for (const storage of storagesOf(clone)) {
        const row = rows.get(storage) ?? this.rowOf(clone, storage, weights.get(storage));
        rows.set(storage, row);
        if (purpose !== undefined) row.savedFor.push(purpose);
      }
    }
    return [...rows.values()];
  }

  private rowOf({ shape, dtype }: Tensor, storage: Storage, weight: string | undefined) {
    const maker = this.makers.get(storage);
    return {
      shape,
      dtype,
      bytes: storage.bytes,
      origin: weight !== undefined ? ("weight" as const) : maker !== undefined ? ("op" as const) : ("data" as const),
      madeBy: weight ?? maker?.kernel,
      module: maker?.module,
      savedFor: [],
    };
  }
}
