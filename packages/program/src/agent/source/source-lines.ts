import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type ReadSite, type StackFrame, siteOfFrames } from "@remat/leaks";
import { ProgramIo } from "../../outside/program-io.js";
import { originalPosition } from "./original-position.js";

const io = new ProgramIo({});

/** Deep enough for a model that is called through layers and closures of tfjs. */
const deepestStack = 200;

/** Finds the line of the user's code that is running: the innermost frame outside dependencies, Node and remat. */
export class SourceLines {
  private readonly known = new Map<string, string>();

  /**
   * As `file:line:column`, with the file relative to the working folder if it is inside it, or undefined if no frame is
   * the user's.
   */
  current(): string | undefined {
    return siteOfFrames(framesOf(callSites(stackBelow(this.current))), (frame) => this.lineOf(frame)).line;
  }

  /**
   * Captures the stack and returns a function that finds that line, and the part of TensorFlow.js that runs between it
   * and the caller.
   */
  takeStack(): ReadSite {
    const stack = stackBelow(this.takeStack);
    return () => siteOfFrames(framesOf(callSites(stack)), (frame) => this.lineOf(frame));
  }

  /** The line of a thrown error, if its stack reaches that far. */
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

/** A loader may append a query to the name. */
function pathOf(file: string): string {
  if (!file.startsWith("file:")) return file;
  try {
    return fileURLToPath(file.replace(/[?#][^]*$/, ""));
  } catch {
    // A loader may give modules addresses that are not files.
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

/** An object with the running stack, which V8 resolves into frames only on request. */
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
