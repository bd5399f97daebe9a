import type { Highs } from "highs";

let loading: Promise<Highs> | undefined;

/** Makes the next call load HiGHS again, because an instance that has failed cannot be used further. @internal */
export function forgetHighs(): void {
  loading = undefined;
}

/**
 * Loads HiGHS, a solver for mixed-integer programs in WebAssembly, at the first call, so that importing the package
 * costs nothing. @internal
 */
export function loadHighs(): Promise<Highs> {
  loading ??= import("highs").then((module) => {
    // NodeNext reads the default export in its types as a namespace.
    const load = module.default as unknown as (options?: object) => Promise<Highs>;
    return load();
  });
  return loading;
}
