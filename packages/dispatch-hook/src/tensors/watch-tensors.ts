import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import { engineInternals } from "../engine-internals.js";
import { PatchSet } from "../patch-set.js";

/** The origin of a tensor. */
export interface TensorBirth {
  /**
   * The TensorFlow.js op by its public name (`add`, `matMul`). Undefined for a tensor made from JavaScript data, or by
   * `variable`.
   */
  readonly op: string | undefined;
  /** True if a `tidy` will dispose of it, unless it is returned or kept. */
  readonly isInTidy: boolean;
}

/** Receives all tensors. It must not run ops. */
export interface TensorWatcher {
  /** A tensor was made. A variable that gets other data is reported as disposed and made, with the same object. */
  tensorMade(tensor: Tensor, birth: TensorBirth): void;
  /** A tensor was disposed of. */
  tensorDisposed(tensor: Tensor): void;
  /** The outermost tidy has ended, or an op that ran outside of all tidies. */
  scopesLeft?(): void;
  /** JavaScript has read values with `data` or `dataSync`. */
  valuesRead?(values: unknown, dataId: DataId): void;
}

/** Suffix of the engine's scope names for ops. */
const opSuffix = "__op";
const births = new Map<string, readonly [outside: TensorBirth, inTidy: TensorBirth]>();
const dataBirths = birthsOf(undefined);

function birthsOf(op: string | undefined): readonly [outside: TensorBirth, inTidy: TensorBirth] {
  return [
    { op, isInTidy: false },
    { op, isInTidy: true },
  ];
}

/**
 * Watches tensors being made and disposed of, until the returned function is called. It takes a tenth of the time of a
 * dispatch mode that listens to ops, since it does not track kernels, buffers and the tape. It works together with
 * dispatch modes.
 *
 * @example
 * const close = watchTensors({ tensorMade: () => alive++, tensorDisposed: () => alive-- });
 */
export function watchTensors(watcher: TensorWatcher): () => void {
  const engine = engineInternals();
  const { state } = engine;
  const patches = new PatchSet();
  let isOpen = true;
  patches.patch(engine, "trackTensor", (original) => (tensor, backend) => {
    original.call(engine, tensor, backend);
    if (!isOpen) return;
    const { scopeStack } = state;
    const depth = scopeStack.length;
    const isInTidy = depth > 0 && !scopeStack[0].name.endsWith(opSuffix);
    const known = depth === 0 ? dataBirths : birthsIn(scopeStack[depth - 1].name);
    watcher.tensorMade(tensor, known[isInTidy ? 1 : 0]);
  });
  patches.patch(engine, "disposeTensor", (original) => (tensor) => {
    original.call(engine, tensor);
    if (isOpen) watcher.tensorDisposed(tensor);
  });
  if (watcher.scopesLeft !== undefined)
    patches.patch(engine, "endScope", (original) => (result) => {
      original.call(engine, result);
      if (isOpen && state.activeScope === null) watcher.scopesLeft?.();
    });
  if (watcher.valuesRead !== undefined) {
    const told = <T>(values: T, dataId: DataId): T => {
      if (isOpen) watcher.valuesRead?.(values, dataId);
      return values;
    };
    patches.patch(
      engine,
      "read",
      (original) => (dataId) => original.call(engine, dataId).then((values) => told(values, dataId)),
    );
    patches.patch(engine, "readSync", (original) => (dataId) => told(original.call(engine, dataId), dataId));
  }
  return () => {
    isOpen = false;
    patches.restore();
  };
}

/** Returns whether a tidy or an op is running. */
export function isInScope(): boolean {
  return engineInternals().state.activeScope !== null;
}

/** Returns whether tensors, or data of a backend, still need the data of a `DataId`. */
export function isDataAlive(dataId: DataId): boolean {
  return engineInternals().state.tensorInfo.has(dataId);
}

/** Only ops are cached, because a program may use many names for its tidies. */
function birthsIn(scope: string): readonly [outside: TensorBirth, inTidy: TensorBirth] {
  const known = births.get(scope);
  if (known !== undefined || !scope.endsWith(opSuffix)) return known ?? dataBirths;
  const made = birthsOf(scope.slice(0, -opSuffix.length));
  births.set(scope, made);
  return made;
}
