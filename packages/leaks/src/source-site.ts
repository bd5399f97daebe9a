/** Where a tensor was made. */
export interface SourceSite {
  /** `file:line:column` of the innermost stack frame in the user's code, if there is one. */
  readonly line: string | undefined;
  /** The part of TensorFlow.js that requested the tensor, if the stack shows that. */
  readonly owner: "model" | "optimizer" | "iterator" | undefined;
  /**
   * The function of TensorFlow.js that returns the tensor to the program, such as `tidy`, `minimize` or `predict`.
   * Undefined if the tensor is not returned, or if the stack contains no names.
   */
  readonly returnedBy: string | undefined;
  /** If there is no line: the outermost library function with a known name, such as `LayersModel.save`. */
  readonly within?: string;
}

/** A running function, as it appears on a stack. */
export interface StackFrame {
  /** As the JavaScript engine writes it, or empty if it has none. */
  readonly name: string;
  readonly file: string;
  /** True if the file belongs to the user's program, not to a library. */
  readonly isOfUser: boolean;
}

/**
 * Finds the site in stack frames, innermost first. Frames are read only as far as needed, and the place of only one is
 * resolved.
 */
export function siteOfFrames<F extends StackFrame>(frames: Iterable<F>, lineOf: (frame: F) => string): SourceSite {
  let line: string | undefined;
  let owner: SourceSite["owner"];
  let called: string | undefined;
  let last: string | undefined;
  let isInTidy = false;
  let within: string | undefined;
  for (const frame of frames) {
    const name = nameOf(frame.name);
    if (!frame.isOfUser) {
      if (line === undefined) owner ??= ownerOf(name, frame.file);
      if (name === "tidy") isInTidy = true;
      if (isTold(name)) last = name;
      if (line === undefined) within = withinOf(frame.name) ?? within;
    } else if (line === undefined) {
      line = lineOf(frame);
      called = last;
      isInTidy = false;
    }
    // If the user's line runs inside a `tidy`, the `tidy` returns its result.
    else return { line, owner, returnedBy: isInTidy ? last : called };
  }
  const told = { line, owner, returnedBy: isInTidy ? undefined : called };
  return line === undefined && within !== undefined ? { ...told, within } : told;
}

/**
 * The name with its class, if the class belongs to a library. Excluded are the tfjs engine, helpers of compiled `async`
 * functions and JavaScript's own classes.
 */
const withinOf = (name: string): string | undefined =>
  /^(?:async )?((?!Engine|Object|Module|Promise|Generator|Function|Array|Error|Backend|\w*Backend\.)[A-Z]\w+\.[a-z]\w{2,})(?: \[as .*\])?$/.exec(
    name,
  )?.[1];

/** `Engine.tidy`, `Sequential.predict`, `norm__op`, `Object.mul [as add]` without the surrounding parts. */
const nameOf = (name: string): string =>
  withoutAlias(name)
    .replace(/^.*[. ]/, "")
    .replace(/__op$/, "");

function withoutAlias(name: string): string {
  const at = name.endsWith("]") ? name.indexOf(" [as ") : -1;
  return at < 0 ? name : name.slice(0, at);
}

/** Returns whether a name is original, not shortened by a bundler. */
const isTold = (name: string): boolean => /^[a-z]\w{2,}$/i.test(name);

/** The part of TensorFlow.js that requests a tensor, by the name of a running function and its file. */
function ownerOf(name: string, file: string): SourceSite["owner"] {
  if (name === "addWeight") return "model";
  if (/^(?:applyGradients|setLearningRate)$|Optimizer$/.test(name)) return "optimizer";
  return /[\\/]tfjs-data[\\/]/.test(file) ? "iterator" : undefined;
}

const ofUser = new Map<string, boolean>();
const mostFiles = 10_000;

function isOfUser(file: string): boolean {
  const known = ofUser.get(file);
  if (known !== undefined) return known;
  const told = isFileOfUser(file);
  if (ofUser.size < mostFiles) ofUser.set(file, told);
  return told;
}

const isFileOfUser = (file: string): boolean =>
  !/[\\/]node_modules[\\/]|^node:/.test(file) && !isOurs(file) && /[\\/]/.test(file);
const isOurs = (file: string): boolean =>
  /[\\/]node_modules[\\/]@remat[\\/]|[\\/]packages[\\/](?:leaks|dispatch-hook)[\\/](?:src|dist)[\\/]/.test(file);

/** Deep enough for a model that is called through layers and closures of tfjs. */
const deepestStack = 100;

/** V8's description of a stack frame. */
interface CallSite {
  getFunctionName(): string | null;
  getScriptNameOrSourceURL(): string | null;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
}
type Prepare = (error: Error, sites: readonly CallSite[]) => unknown;

/** Reads the site from a stack that was captured before. */
export type ReadSite = () => SourceSite;

/**
 * Captures the running stack in Chrome, Node, Firefox or Safari and returns a function that reads the site from it. V8
 * resolves frames only on request, so a stack that is never read costs little. The frames are read unmapped: a test
 * runner that maps stacks to sources also maps dependencies, which makes them unrecognizable, and is slow. Only
 * the place that is reported is mapped.
 */
export function takeStack(): ReadSite {
  const host = Error as unknown as { stackTraceLimit: number; prepareStackTrace: Prepare | undefined };
  const { stackTraceLimit } = host;
  host.stackTraceLimit = deepestStack;
  const error = new Error();
  host.stackTraceLimit = stackTraceLimit;
  return () => {
    const { prepareStackTrace } = host;
    let sites: readonly CallSite[] | undefined;
    host.prepareStackTrace = (_, told) => void (sites = told);
    const { stack } = error;
    host.prepareStackTrace = prepareStackTrace;
    return sites === undefined
      ? siteOfStack(stack ?? "")
      : siteOfFrames(framesOfSites(sites), ({ site, file }) => placeOf(site, file, prepareStackTrace));
  };
}

function* framesOfSites(sites: readonly CallSite[]): Generator<StackFrame & { readonly site: CallSite }> {
  for (const site of sites) {
    const file = site.getScriptNameOrSourceURL();
    if (file != null)
      yield { name: isOurs(file) ? "" : (site.getFunctionName() ?? ""), file, isOfUser: isOfUser(file), site };
  }
}

function placeOf(site: CallSite, file: string, prepare: Prepare | undefined): string {
  const [line, column] = [site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0];
  const mapped = prepare?.(new Error(), [site]);
  const told =
    typeof mapped === "string" ? placesOf(mapped).next().value?.place : originalPlace(file, line - 1, column - 1);
  return withoutScheme(told ?? `${file}:${line}:${column}`);
}

interface Host {
  readonly process?: {
    getBuiltinModule?(name: "node:module"): {
      findSourceMap(file: string): { findEntry(line: number, column: number): Partial<SourceEntry> } | undefined;
    };
  };
}
interface SourceEntry {
  readonly originalSource: string;
  readonly originalLine: number;
  readonly originalColumn: number;
}

/** Maps a place if Node itself maps stacks (`--enable-source-maps`, tsx). */
function originalPlace(file: string, line: number, column: number): string | undefined {
  const { process } = globalThis as Host;
  const entry = process?.getBuiltinModule?.("node:module").findSourceMap(file)?.findEntry(line, column);
  return entry?.originalSource === undefined
    ? undefined
    : `${entry.originalSource}:${entry.originalLine! + 1}:${entry.originalColumn! + 1}`;
}

const withoutScheme = (place: string): string => place.replace(/^file:\/\//, "");

/**
 * Finds the site in a stack given as text.
 *
 * @internal
 */
export function siteOfStack(stack: string): SourceSite {
  return siteOfFrames(placesOf(stack), ({ place }) => withoutScheme(place));
}

/** Splits a line of a stack: `at async name (place)` and `at place` as V8 writes them, or `name@place`. */
function partsOf(frame: string): { readonly name: string; readonly place: string } {
  const line = frame.trimStart();
  if (line.startsWith("at ")) {
    const text = line.slice("at ".length);
    const open = text.indexOf(" (");
    const place = open < 0 ? text : text.slice(open + " (".length);
    return {
      name: text.slice(0, Math.max(open, 0)).replace(/^async /, ""),
      place: place.endsWith(")") ? place.slice(0, -1) : place,
    };
  }
  const at = frame.indexOf("@");
  return at < 0 ? { name: "", place: "" } : { name: frame.slice(0, at), place: frame.slice(at + 1) };
}

function* placesOf(stack: string): Generator<StackFrame & { readonly place: string }> {
  for (const frame of stack.split("\n")) {
    const { name, place } = partsOf(frame);
    const file = /^(.*?)(?::\d+){1,2}$/.exec(place)?.[1];
    if (file === undefined) continue;
    yield { name: isOurs(file) ? "" : name, file, isOfUser: isOfUser(file), place };
  }
}
