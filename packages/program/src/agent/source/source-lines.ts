import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type ReadSite, type StackFrame, siteOfFrames } from "@remat/leaks";
import { ProgramIo } from "../../outside/program-io.js";
import { originalPosition } from "./original-position.js";

const io = new ProgramIo({});

/** Deep enough for a model that is called through layers and closures of tfjs. */
const deepestStack = 200;

/** Tells which line of the user's code is running: the innermost frame that is neither in a dependency, nor Node's, nor ours. */
export class SourceLines {
  private readonly known = new Map<string, string>();

  /** As `file:line:column`, the file relative to the working folder where it is in it; undefined where no frame is the user's. */
  current(): string | undefined {
    return siteOfFrames(framesOf(callSites(stackBelow(this.current))), (frame) => this.lineOf(frame)).line;
  }

  /** Takes the stack, and returns a function that tells that line and what of TensorFlow.js runs between it and here. */
  takeStack(): ReadSite {
    const stack = stackBelow(this.takeStack);
    return () => siteOfFrames(framesOf(callSites(stack)), (frame) => this.lineOf(frame));
  }

  /** Of an error that was thrown: as far as its stack goes. */
  ofError(error: unknown): string | undefined {
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    for (const frame of stack.split("\n")) {
      const place = /:(\d{1,15}):(\d{1,15})\)?$/.exec(frame);
      const from = /^\s*at /.exec(frame);
      if (place === null || from === null) continue;
      const before = frame.slice(from[0].length, place.index);
      const file = before.slice(before.lastIndexOf("(") + 1);
      if (file !== "" && isOfUser(file)) return this.describe(file, Number(place[1]), Number(place[2]));
    }
    return undefined;
  }

  private lineOf({ site, file }: StackFrame & { readonly site: NodeJS.CallSite }): string {
    return this.describe(file, site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0);
  }

  private describe(file: string, line: number, column: number): string {
    const key = `${file}:${line}:${column}`;
    let told = this.known.get(key);
    if (told === undefined) {
      told = describe(pathOf(file), line, column);
      this.known.set(key, told);
    }
    return told;
  }
}

function describe(path: string, line: number, column: number): string {
  const original = originalPosition(path, line, column);
  const here = io.workingFolder();
  const inside = here === undefined ? "" : relative(here, original.path);
  const shown = inside.startsWith("..") || inside === "" ? original.path : inside.replaceAll(sep, "/");
  return `${shown}:${original.line}:${original.column}`;
}

function* framesOf(sites: readonly NodeJS.CallSite[]): Generator<StackFrame & { readonly site: NodeJS.CallSite }> {
  for (const site of sites) {
    const file = site.getFileName();
    if (file == null) continue;
    yield { name: file === __filename ? "" : (site.getFunctionName() ?? ""), file, isOfUser: isOfUser(file), site };
  }
}

/** A loader may put a query behind the name. */
function pathOf(file: string): string {
  if (!file.startsWith("file:")) return file;
  try {
    return fileURLToPath(file.replace(/[?#][^]*$/, ""));
  } catch {
    // A loader may give its modules addresses of no file.
    return file;
  }
}

const ofUser = new Map<string, boolean>();
const mostFiles = 10_000;

function isOfUser(file: string): boolean {
  const known = ofUser.get(file);
  if (known !== undefined) return known;
  const told =
    !file.startsWith("node:") && !/[\\/]node_modules[\\/]/.test(file) && file !== __filename && /[\\/]/.test(file);
  if (ofUser.size < mostFiles) ofUser.set(file, told);
  return told;
}

/** An object that has the running stack, which V8 turns into frames only when it is asked for them. */
function stackBelow(below: (...args: never[]) => unknown): object {
  const { stackTraceLimit } = Error;
  const holder = {};
  Error.stackTraceLimit = deepestStack;
  Error.captureStackTrace(holder, below);
  Error.stackTraceLimit = stackTraceLimit;
  return holder;
}

function callSites(holder: { readonly stack?: unknown }): readonly NodeJS.CallSite[] {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_error, sites) => sites;
  try {
    return Array.isArray(holder.stack) ? (holder.stack as NodeJS.CallSite[]) : [];
  } finally {
    Error.prepareStackTrace = prepareStackTrace as NonNullable<typeof prepareStackTrace>;
  }
}
