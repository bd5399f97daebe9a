/** What of Node is asked; in a browser there is none of it. */
interface NodeProcess {
  constrainedMemory?(): number;
  getBuiltinModule?(name: "node:os"): { totalmem(): number };
}

/** Returns the bytes of memory that a process may have here: the machine's, or less where its control group says so; undefined in a browser, which does not tell. */
export function machineMemoryBytes(): number | undefined {
  const { process } = globalThis as { readonly process?: NodeProcess };
  const totalBytes = process?.getBuiltinModule?.("node:os").totalmem();
  // 0, or more than there is, where nothing limits it.
  const limitBytes = process?.constrainedMemory?.() ?? 0;
  return totalBytes !== undefined && limitBytes > 0 ? Math.min(limitBytes, totalBytes) : totalBytes;
}
