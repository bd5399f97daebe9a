/**
 * Tracks the code that a function starts, including asynchronous continuations. This is the part of Node's
 * `AsyncLocalStorage` that the hook needs.
 */
export interface AsyncContext<T> {
  run<R>(value: T, fn: () => R): R;
  getStore(): T | undefined;
  disable(): void;
}

interface Host {
  readonly process?: {
    getBuiltinModule?(
      name: "node:async_hooks",
    ): { readonly AsyncLocalStorage: new () => AsyncContext<never> } | undefined;
  };
}

/** Makes a context. Undefined in browsers, which cannot attribute asynchronous continuations. @internal */
export function makeAsyncContext<T>(): AsyncContext<T> | undefined {
  const { process } = globalThis as Host;
  const Storage = process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
  return Storage === undefined ? undefined : (new Storage() as AsyncContext<T>);
}
