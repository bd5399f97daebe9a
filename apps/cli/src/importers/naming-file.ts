import { RematError } from "@remat/trace";

/** Runs a reader and adds the file's name to its errors. */
export function namingFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof RematError ? new RematError(cause.code, `${path}: ${cause.message}`, { cause }) : cause;
  }
}
