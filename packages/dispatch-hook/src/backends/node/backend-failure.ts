import { RematError } from "@remat/trace";

/**
 * Reason why a package could not be used:
 *
 * - `module`: it is not installed
 * - `addon`: its native addon is missing
 * - `library`: a shared library is missing
 * - `trust`: other users could have changed it in the cache
 * - `start`: it did not start
 * - `kernels`: it lacks kernels that were requested
 */
export type MissingPart = "module" | "addon" | "library" | "trust" | "start" | "kernels";

/**
 * Returns the missing part, given the error from loading an installed package.
 *
 * @example
 * classifyFailure(new Error("libcudart.so.12: cannot open shared object file")); // "library"
 */
export function classifyFailure(failure: unknown): Exclude<MissingPart, "module"> {
  if (failure instanceof RematError && failure.code === "NATIVE_UNTRUSTED") return "trust";
  if (failure instanceof RematError && failure.code === "BACKEND_UNTRAINABLE") return "kernels";
  const { message } = failure instanceof Error ? failure : new Error(String(failure));
  if (/cannot open shared object|\.(so|dylib|dll)\b/.test(message)) return "library";
  if (/tfjs_binding\.node|native addon/i.test(message)) return "addon";
  return "start";
}

/** Returns the first line with content of an error, without text that Node appends. @internal */
export function oneLine(failure: unknown): string {
  const lines = (failure instanceof Error ? failure.message : String(failure)).split("\n").map((line) => line.trim());
  return (lines.find((line) => line !== "") ?? "no reason given").slice(0, 300);
}
