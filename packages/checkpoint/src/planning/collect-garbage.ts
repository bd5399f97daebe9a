interface Host {
  readonly process?: {
    getBuiltinModule?(name: "node:v8"): { setFlagsFromString(flags: string): void };
    getBuiltinModule?(name: "node:vm"): { runInNewContext(code: string): unknown };
  };
}

/**
 * Has V8 collect what a recorded pass has left, in Node: a heap that was as large when V8 looked at it last may grow to several times that before V8 looks again, and all of it is
 * resident. Elsewhere it does nothing.
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
    // Some Node or other may not let it.
  }
}
