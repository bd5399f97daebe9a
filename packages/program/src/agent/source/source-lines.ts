import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type SourceSite, type StackFrame, siteOfFrames } from "@remat/leaks";
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
    return this.siteIn(callSites(this.current)).line;
  }

  /** With what of TensorFlow.js runs between that line and here. */
  currentSite(): SourceSite {
    return this.siteIn(callSites(this.currentSite));
  }

  /** Of an error that was thrown: as far as its stack goes. */
  ofError(error: unknown): string | undefined {
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    for (const frame of stack.split("\n")) {
      const [, file, line, column] = /^\s*at (?:.*\()?(.+?):(\d+):(\d+)\)?$/.exec(frame) ?? [];
      if (file !== undefined && isOfUser(file)) return this.describe(file, Number(line), Number(column));
    }
    return undefined;
  }

  private siteIn(sites: readonly NodeJS.CallSite[]): SourceSite {
    return siteOfFrames(framesOf(sites), ({ site, file }) =>
      this.describe(file, site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0),
    );
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
    return fileURLToPath(file.replace(/[?#].*$/, ""));
  } catch {
    // A loader may give its modules addresses of no file.
    return file;
  }
}

const isOfUser = (file: string): boolean =>
  !file.startsWith("node:") && !/[\\/]node_modules[\\/]/.test(file) && file !== __filename && /[\\/]/.test(file);

function callSites(below: (...args: never[]) => unknown): readonly NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: readonly NodeJS.CallSite[] } = {};
  Error.prepareStackTrace = (_error, sites) => sites;
  Error.stackTraceLimit = deepestStack;
  try {
    Error.captureStackTrace(holder, below);
    return holder.stack ?? [];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace as NonNullable<typeof prepareStackTrace>;
  }
}
