import { RematError } from "@remat/trace";

/**
 * What a package lacked: itself, its native addon, a shared library of that, or `trust`, since in the cache others can have changed it; or it was all there and
 * did not `start`, or lacks `kernels` of what it was asked for.
 */
export type MissingPart = "module" | "addon" | "library" | "trust" | "start" | "kernels";

/**
 * Returns what is missing, by the error with which loading a package that is installed failed.
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

/** The first line of an error that says anything, without what Node puts after it. @internal */
export function oneLine(failure: unknown): string {
  const lines = (failure instanceof Error ? failure.message : String(failure)).split("\n").map((line) => line.trim());
  return (lines.find((line) => line !== "") ?? "no reason given").slice(0, 300);
}
