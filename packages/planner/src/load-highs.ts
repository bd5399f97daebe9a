import type { Highs } from "highs";

let loading: Promise<Highs> | undefined;

/** Has the next caller load it anew: one that has failed is not fit to go on. @internal */
export function forgetHighs(): void {
  loading = undefined;
}

/** HiGHS, a solver of mixed-integer programs in WebAssembly; loaded when first asked for, so that importing the package costs nothing. @internal */
export function loadHighs(): Promise<Highs> {
  loading ??= import("highs").then((module) => {
    // Its types describe a default export that NodeNext reads as a namespace.
    const load = module.default as unknown as (options?: object) => Promise<Highs>;
    return load();
  });
  return loading;
}
