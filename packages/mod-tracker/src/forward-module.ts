import type { Layer } from "./layer-internals.js";

/** An object that is no layer, but holds layers, and calls them in its `forward`: of a class of the user's own, or plain. */
export interface ForwardModule {
  forward(...inputs: never[]): unknown;
}

/** What can be a module of its own. */
export type Part = Layer | ForwardModule;

/** Whether an object has a `forward` to call; a layer has none. */
export const hasForward = (value: object): value is ForwardModule =>
  typeof (value as Partial<ForwardModule>).forward === "function";

/** Returns the name of its class; a plain object has none that says anything. */
export function kindOf(module: ForwardModule): string {
  const { name } = (module.constructor ?? Object) as { name: string };
  return name === "Object" || name === "" ? "Module" : name;
}
