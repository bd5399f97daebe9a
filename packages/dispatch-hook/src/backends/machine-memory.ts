/** The part of Node that is used. Undefined in a browser. */
interface NodeProcess {
  constrainedMemory?(): number;
  availableMemory?(): number;
  getBuiltinModule?(name: "node:os"): { totalmem(): number };
}

/**
 * Returns the memory available to a process in bytes: the machine's, or less if its control group limits it. Undefined
 * in a browser, which does not report it.
 */
export function machineMemoryBytes(): number | undefined {
  const { process } = globalThis as { readonly process?: NodeProcess };
  const totalBytes = process?.getBuiltinModule?.("node:os").totalmem();
  // Without a limit this is 0, or more than the total memory.
  const limitBytes = process?.constrainedMemory?.() ?? 0;
  return totalBytes !== undefined && limitBytes > 0 ? Math.min(limitBytes, totalBytes) : totalBytes;
}

/**
 * Returns how many more bytes this process can allocate in host memory, within its control group's limit. Undefined if
 * unknown, as in a browser.
 */
export function availableMemoryBytes(): number | undefined {
  const { process } = globalThis as { readonly process?: NodeProcess };
  return process?.availableMemory?.();
}
