import { RematError } from "@remat/trace";
import { InputError, readInput } from "@remat/trace/files";

/**
 * Reads the bytes of a file that MODEL names, or that such a file refers to.
 *
 * @throws RematError `MODEL_UNREADABLE`
 */
export function readModelFile(path: string, maxBytes?: number): Buffer {
  try {
    return readInput(path, maxBytes === undefined ? {} : { maxBytes });
  } catch (cause) {
    const next =
      cause instanceof InputError && cause.code === "EINPUTKIND" ? "Name a regular file." : "Check its permissions.";
    throw new RematError("MODEL_UNREADABLE", `${path}: cannot be read (${(cause as Error).message}). ${next}`, {
      cause,
    });
  }
}

/**
 * Reads the text of a file that MODEL names.
 *
 * @throws RematError `MODEL_UNREADABLE`
 */
export const readModelText = (path: string): string => readModelFile(path).toString("utf8");
