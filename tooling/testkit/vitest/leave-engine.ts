import { afterAll, expect } from "vitest";

interface Engine {
  readonly state: {
    readonly scopeStack: readonly unknown[];
    readonly registeredVariables: Readonly<Record<string, { dispose(): void }>>;
  };
}

/**
 * Of the engine of tfjs, which test files of a process share: fails one that leaves it hooked or in a scope, in which those that follow would run; disposes of the variables that it
 * leaves, which would count as theirs.
 */
afterAll(() => {
  // By tfjs's own global, so that nothing is imported where no test uses it.
  const { _tfengine: engine } = globalThis as { readonly _tfengine?: Engine };
  if (engine === undefined) return;
  const hooked = Object.entries(engine).filter(([, value]) => typeof value === "function");
  const { scopeStack, registeredVariables } = engine.state;
  expect({ hooked: hooked.map(([name]) => name), scopes: scopeStack.length }).toEqual({ hooked: [], scopes: 0 });
  for (const variable of Object.values(registeredVariables)) variable.dispose();
});
