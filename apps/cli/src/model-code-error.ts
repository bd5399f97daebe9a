import { existsSync, realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { RematError } from "@remat/trace";

/** Deep enough for the frames between a model's line and the place in TensorFlow.js that rejects its call. */
export const deepestStack = 100;

/**
 * Adds a location to an error thrown while the files `targets` were processed: the line in these files that threw it or
 * called the code that did. Only the file is named if TensorFlow.js rejects a model that is not code. Any other error
 * is returned unchanged.
 */
export function namingModel(error: unknown, targets: readonly string[]): unknown {
  const paths = targets.flatMap(pathsOf);
  if (!(error instanceof Error)) {
    const where = paths.length === 0 ? "" : `${paths[0]}: `;
    const thrown = `the model's code threw ${describeThrown(error)}, which is not an Error.`;
    return modelCodeError(`${where}${thrown} Throw an Error with a message.`, error);
  }
  const place = paths.map((path) => placeIn(path, error)).find((found) => found !== undefined);
  const { message } = error;
  const isNamed = [...targets, ...paths].some((path) => message.startsWith(`${path}: `));
  const found = place ?? (targets.length === 1 && !isNamed && isOfTensors(error) ? paths[0] : undefined);
  if (found === undefined || isTooDeep(error)) return error;
  // Errors of remat already say what to do.
  if (error instanceof RematError) return new RematError(error.code, `${found}: ${message}`, { cause: error });
  const end = /[.?!]$/.test(message) ? "" : ".";
  return modelCodeError(
    `${found}: ${message}${end} Fix the model${place === undefined ? "" : " there"}; REMAT_DEBUG=1 shows the call stack.`,
    error,
  );
}

function modelCodeError(message: string, cause: unknown): RematError {
  return new RematError("MODEL_CODE", message, { cause });
}

/** Returns whether an error is a stack overflow. The line where the stack ran out need not be the faulty one. */
export function isTooDeep(error: Error): boolean {
  return error instanceof RangeError && /call stack/.test(error.message);
}

/** Returns whether the error comes from TensorFlow.js, or from the code that replaces it in a fake step. */
function isOfTensors(error: Error): boolean {
  if (error instanceof RematError) return /^(KERNEL_|DATA_DEPENDENT$|TENSOR_SIZE$)/.test(error.code);
  const [first = ""] = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  return /[\\/]node_modules[\\/]@tensorflow[\\/]/.test(first);
}

/** Returns the paths under which Node may report code of a file. It resolves links unless it is configured not to. */
function pathsOf(target: string): readonly string[] {
  return existsSync(target) ? [...new Set([realpathSync(target), resolve(target)])] : [];
}

/** Returns the first place of a stack that is in the file `path`, or in a file of that folder. */
function placeIn(path: string, { stack = "" }: Error): string | undefined {
  for (const line of stack.split("\n")) {
    const from = /^\s+at /.exec(line);
    const to = /(:\d{1,15}:\d{1,15})\)?$/.exec(line);
    if (from === null || to === null) continue;
    const before = line.slice(from[0].length, to.index);
    const open = before.lastIndexOf(" (");
    const named = before.slice(open < 0 ? 0 : open + " (".length).replace(/^async /, "");
    if (named === "") continue;
    // A stack names an ES module by its URL, and a required file by its path.
    const file = named.startsWith("file:") ? fileURLToPath(named) : named;
    const isOurs = file === path || (file.startsWith(path + sep) && !file.includes(`${sep}node_modules${sep}`));
    if (isOurs) return `${file}${to[1]}`;
  }
  return undefined;
}

/** Any value can be thrown, even one that cannot be converted to text. */
function describeThrown(thrown: unknown): string {
  return inspect(thrown, { depth: 0, breakLength: Infinity }).slice(0, 200);
}
