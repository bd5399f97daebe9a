import { RematError } from "@remat/trace";

/** Runs what reads a file, and has its refusals name the file. */
export function namingFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof RematError ? new RematError(cause.code, `${path}: ${cause.message}`, { cause }) : cause;
  }
}
