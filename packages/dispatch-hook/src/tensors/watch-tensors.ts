import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import { engineInternals } from "../engine-internals.js";
import { PatchSet } from "../patch-set.js";

/** Where a tensor was made. */
export interface TensorBirth {
  /** The op of tfjs as users know it (`add`, `matMul`); undefined for what was made of JavaScript's data, or by `variable`. */
  readonly op: string | undefined;
  /** Whether some `tidy` will dispose of it, unless it is returned or kept. */
  readonly isInTidy: boolean;
}

/** Is told of every tensor. Must not run ops. */
export interface TensorWatcher {
  /** A variable that gets other data is disposed of and made, the same object each time. */
  tensorMade(tensor: Tensor, birth: TensorBirth): void;
  tensorDisposed(tensor: Tensor): void;
  /** The outermost tidy is over, or an op that none is around. */
  scopesLeft?(): void;
  /** JavaScript has got values, by `data` or `dataSync`. */
  valuesRead?(values: unknown, dataId: DataId): void;
}

/** By which the engine names the scope around an op. */
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
 * Watches tensors come and go until the returned function is called: a tenth of what a dispatch mode costs that listens to ops, since nothing is known of
 * kernels, buffers and the tape. Works beside dispatch modes.
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

/** Tells whether a tidy or an op is running. */
export function isInScope(): boolean {
  return engineInternals().state.activeScope !== null;
}

/** Tells whether tensors, or something of a backend, still need what is on a `DataId`. */
export function isDataAlive(dataId: DataId): boolean {
  return engineInternals().state.tensorInfo.has(dataId);
}

/** Names of ops are few, those of a program's tidies may not be. */
function birthsIn(scope: string): readonly [outside: TensorBirth, inTidy: TensorBirth] {
  const known = births.get(scope);
  if (known !== undefined || !scope.endsWith(opSuffix)) return known ?? dataBirths;
  const made = birthsOf(scope.slice(0, -opSuffix.length));
  births.set(scope, made);
  return made;
}
