import { formatTypedBytes } from "@remat/text-table";
import { RematError } from "@remat/trace";

/** What the process that runs the steps may have resident, and what of it is kept for others than tensors. */
export interface MemoryLimit {
  readonly bytes: number;
  readonly reserveBytes: number;
}

/** Returns what tensors may hold of a limit. */
export const roomOf = ({ bytes, reserveBytes }: MemoryLimit): number => bytes - reserveBytes;

/**
 * Refuses a step before it runs whose tensors have no room, by the same number as `remat fit`.
 *
 * @param memory undefined: nobody says
 * @throws RematError `MEMORY_LIMIT`
 */
export function requireRoom(name: string, peakBytes: number, memory: MemoryLimit | undefined): void {
  if (memory === undefined) return;
  const roomBytes = roomOf(memory);
  if (peakBytes <= roomBytes) return;
  throw new RematError(
    "MEMORY_LIMIT",
    `${name}: a step holds ${formatTypedBytes(peakBytes)} at its peak, and ${formatTypedBytes(Math.max(0, roomBytes))} are left of --memory. Nothing was run. Give a smaller --batch, or --budget ${roomBytes}B.`,
  );
}
