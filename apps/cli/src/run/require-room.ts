import { RematError } from "@remat/trace";
import { formatTypedBytes } from "@remat/trace/text";

/** What the process that runs the steps may have resident, and what of it is kept for others than tensors. */
export interface MemoryLimit {
  readonly bytes: number;
  readonly reserveBytes: number;
}

/** Returns what tensors may hold of a limit. */
export const roomOf = ({ bytes, reserveBytes }: MemoryLimit): number => bytes - reserveBytes;

/**
 * Refuses a step before it runs that has no room, by the same numbers as `remat fit`.
 *
 * @param needed what its tensors hold at the peak, and what kernels hold beside them
 * @param memory undefined: nobody says
 * @throws RematError `MEMORY_LIMIT`
 */
export function requireRoom(
  name: string,
  { peakBytes, libraryBytes }: { readonly peakBytes: number; readonly libraryBytes: number },
  memory: MemoryLimit | undefined,
): void {
  if (memory === undefined) return;
  const roomBytes = Math.max(0, roomOf(memory) - libraryBytes);
  if (peakBytes <= roomBytes) return;
  const kept = libraryBytes === 0 ? "" : ` besides ${formatTypedBytes(libraryBytes)} for kernels`;
  throw new RematError(
    "MEMORY_LIMIT",
    `${name}: a step needs ${formatTypedBytes(peakBytes)} at its peak, and --memory leaves ${formatTypedBytes(roomBytes)}${kept}. Nothing was run. Use a smaller --batch${roomBytes === 0 ? "" : `, or --budget ${roomBytes}B`}.`,
  );
}
