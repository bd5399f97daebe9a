import { RematError } from "@remat/trace";
import { formatTypedBytes } from "@remat/trace/text";

/** Resident memory limit of the process that runs the steps, and the part reserved for anything but tensors. */
export interface MemoryLimit {
  readonly bytes: number;
  readonly reserveBytes: number;
}

/** Returns the part of a limit available to tensors. */
export const roomOf = ({ bytes, reserveBytes }: MemoryLimit): number => bytes - reserveBytes;

/**
 * Rejects a step that does not fit before it runs, with the same numbers as `remat fit`.
 *
 * @param needed peak memory of its tensors, and kernel memory in addition
 * @param memory undefined if there is no limit
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
    `${name}: a step needs ${formatTypedBytes(peakBytes)} at its peak, ` +
      `and --memory leaves ${formatTypedBytes(roomBytes)}${kept}. Nothing was run. ` +
      `Use a smaller --batch${roomBytes === 0 ? "" : `, or --budget ${roomBytes}B`}.`,
  );
}
