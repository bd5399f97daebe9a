/** Where a tensor was made. */
export interface SourceSite {
  /** `file:line:column` of the innermost frame of the user's, if one is on the stack. */
  readonly line: string | undefined;
  /** What of TensorFlow.js asked for it, where its frames tell. */
  readonly owner: "model" | "optimizer" | "iterator" | undefined;
}

/** Tells what of TensorFlow.js asked for a tensor, by the name of a function that runs and the file that it is in. */
export function ownerOf(name: string, file: string): SourceSite["owner"] {
  if (/\baddWeight$/.test(name)) return "model";
  if (/\bapplyGradients$|\bsetLearningRate$|Optimizer$/.test(name)) return "optimizer";
  return /[\\/]tfjs-data[\\/]/.test(file) ? "iterator" : undefined;
}

const isOfUser = (file: string): boolean =>
  !/[\\/]node_modules[\\/]|^node:|[\\/]packages[\\/](?:leaks|dispatch-hook)[\\/](?:src|dist)[\\/]/.test(file) &&
  /[\\/]/.test(file);

/** Deep enough for a model that is called through layers and closures of tfjs. */
const deepestStack = 100;

/** Reads the site off the running stack, of Chrome, Node, Firefox or Safari. */
export function currentSite(): SourceSite {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = deepestStack;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = stackTraceLimit;
  return siteOfStack(stack);
}

/** Returns the site that a stack, as text, tells. @internal */
export function siteOfStack(stack: string): SourceSite {
  let owner: SourceSite["owner"];
  for (const frame of stack.split("\n")) {
    const [, name, place] = /^\s*at (?:(?:async )?(.*?) \()?(.*?)\)?$/.exec(frame) ?? /^(.*?)@(.*)$/.exec(frame) ?? [];
    const file = /^(.*?)(?::\d+){1,2}$/.exec(place ?? "")?.[1];
    if (place === undefined || file === undefined) continue;
    if (isOfUser(file)) return { line: place.replace(/^file:\/\//, ""), owner };
    owner ??= ownerOf((name ?? "").replace(/ \[as .*\]$/, ""), file);
  }
  return { line: undefined, owner };
}
