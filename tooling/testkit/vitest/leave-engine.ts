import { afterAll, expect } from "vitest";

interface Engine {
  readonly state: {
    readonly scopeStack: readonly unknown[];
    readonly registeredVariables: Readonly<Record<string, { dispose(): void }>>;
  };
}

/**
 * Checks tfjs's engine, which the test files of a process share. Fails a file that leaves the engine hooked or in a
 * scope, which would affect the files that follow. Disposes variables that a file leaves, which would be counted as
 * theirs.
 */
afterAll(() => {
  // Uses tfjs's own global, so that nothing is imported if no test uses it.
  const { _tfengine: engine } = globalThis as { readonly _tfengine?: Engine };
  if (engine === undefined) return;
  const hooked = Object.entries(engine).filter(([, value]) => typeof value === "function");
  const { scopeStack, registeredVariables } = engine.state;
  expect({ hooked: hooked.map(([name]) => name), scopes: scopeStack.length }).toEqual({ hooked: [], scopes: 0 });
  for (const variable of Object.values(registeredVariables)) variable.dispose();
});
