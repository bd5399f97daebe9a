/** What runs from a function on, its asynchronous continuations included: as much of Node's `AsyncLocalStorage` as the hook needs. */
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

/**
 * Makes a context; undefined in browsers, which cannot tell whose an asynchronous continuation is.
 *
 * @internal
 */
export function makeAsyncContext<T>(): AsyncContext<T> | undefined {
  const { process } = globalThis as Host;
  const Storage = process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
  return Storage === undefined ? undefined : (new Storage() as AsyncContext<T>);
}
