import { freemem } from "node:os";

/** Returns the bytes that this process may still take; a limit of its control group counts from Node 20.13 on. */
export function availableMemory(): number {
  const { availableMemory: ask } = process as { availableMemory?: () => number };
  return ask?.call(process) ?? freemem();
}
