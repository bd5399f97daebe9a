interface Host {
  readonly process?: {
    getBuiltinModule?(name: "node:v8"): { setFlagsFromString(flags: string): void };
    getBuiltinModule?(name: "node:vm"): { runInNewContext(code: string): unknown };
  };
}

/**
 * Makes V8 collect the garbage of a recorded pass, in Node. Otherwise a large heap may grow several times before V8
 * collects again, and all of it is resident. Does nothing outside of Node.
 *
 * @internal
 */
export function collectGarbage(): void {
  const { process } = globalThis as Host;
  const v8 = process?.getBuiltinModule?.("node:v8");
  const vm = process?.getBuiltinModule?.("node:vm");
  if (v8 === undefined || vm === undefined) return;
  try {
    v8.setFlagsFromString("--expose-gc");
    const collect = vm.runInNewContext("gc");
    v8.setFlagsFromString("--no-expose-gc");
    if (typeof collect === "function") collect();
  } catch {
    // Some Node versions may not allow it.
  }
}
