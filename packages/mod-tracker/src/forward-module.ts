import type { Layer } from "./layer-internals.js";

/** An object, of your own class or plain, that contains layers and calls them in its `forward`. */
export interface ForwardModule {
  /** Calls the layers. */
  forward(...inputs: never[]): unknown;
}

/** Anything that can be a module of its own. */
export type Part = Layer | ForwardModule;

/** Returns whether an object has a `forward` method. Layers have none. */
export const hasForward = (value: object): value is ForwardModule =>
  typeof (value as Partial<ForwardModule>).forward === "function";

/** Returns the name of the object's class, or `Module` for a plain object. */
export function kindOf(module: ForwardModule): string {
  const { name } = (module.constructor ?? Object) as { name: string };
  return name === "Object" || name === "" ? "Module" : name;
}
