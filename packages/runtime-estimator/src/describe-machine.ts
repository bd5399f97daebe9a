interface HostGlobals {
  readonly process?: {
    readonly versions?: { readonly node?: string };
    getBuiltinModule?(name: string): { cpus(): readonly { readonly model: string }[] } | undefined;
  };
  readonly navigator?: { readonly userAgent?: string; readonly hardwareConcurrency?: number };
}

/**
 * Returns the processor and the runtime of this process, for the key of stored measurements.
 *
 * @example
 * describeMachine(); // "8 × Intel(R) Xeon(R) …; node 20.19.5"
 */
export function describeMachine(): string {
  const { process, navigator } = globalThis as HostGlobals;
  const cpus = process?.getBuiltinModule?.("node:os")?.cpus();
  if (cpus !== undefined && cpus.length > 0)
    return `${cpus.length} × ${cpus[0].model.trim()}; node ${process?.versions?.node ?? "of unknown version"}`;
  return `${navigator?.hardwareConcurrency ?? "?"} × unknown processor; ${navigator?.userAgent ?? "unknown runtime"}`;
}
