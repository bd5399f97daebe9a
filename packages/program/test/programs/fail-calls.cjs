// Loaded before remat's preload. Makes one call of remat's code to Node fail, or that one and all later ones, with a
// given error. Calls of the program and of Node are not affected.
const { appendFileSync, ...fs } = require("node:fs");
const { sep } = require("node:path");

const { at, code, keeps, counts } = JSON.parse(process.env.REMAT_FAULT ?? "{}");
const ours = `${__dirname}${sep}`;
let calls = 0;
let isCounting = false;

/**
 * Returns whether the caller of `node:fs` or a similar module is one of remat's files. Node's loader reads modules for
 * everyone, so there the path decides.
 */
function isOurs(path) {
  if (typeof path === "string" && path.startsWith(ours)) return true;
  const { stackTraceLimit, prepareStackTrace } = Error;
  const holder = {};
  Error.stackTraceLimit = 20;
  Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName() ?? "");
  Error.captureStackTrace(holder, isOurs);
  const files = holder.stack;
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  const caller = files.find((each) => each !== __filename && !/^node:(?:fs|internal\/fs)/.test(each));
  return caller?.replace("file://", "").startsWith(ours) === true;
}

/** The error that the call throws, or undefined if it should work. */
function fault(name, path) {
  if (isCounting || !isOurs(path)) return undefined;
  const call = calls++;
  isCounting = true;
  if (counts) appendFileSync(counts, `${name}\n`);
  isCounting = false;
  // A process without room or descriptors can still send signals.
  const fails = call === at || (keeps && call > at && name !== "kill");
  if (!fails) return undefined;
  return Object.assign(new Error(`${code}: made to fail, ${name}`), { code, errno: -1, syscall: name });
}

function patch(target, name) {
  const original = target[name];
  if (typeof original !== "function") return;
  target[name] = function (...given) {
    const error = fault(name, given[0]);
    if (error === undefined)
      return new.target ? Reflect.construct(original, given, new.target) : original.apply(this, given);
    if (name === "existsSync") return false;
    throw error;
  };
  Object.assign(target[name], original);
  if (original.prototype !== undefined) target[name].prototype = original.prototype;
}

const patched = require("node:fs");
for (const name of Object.keys(fs)) if (name.endsWith("Sync")) patch(patched, name);
patch(process, "kill");
patch(process, "cwd");
patch(process, "resourceUsage");
const { rss } = process.memoryUsage;
patch(process, "memoryUsage");
process.memoryUsage.rss = rss;
patch(process.memoryUsage, "rss");
patch(require("node:module"), "register");
patch(require("node:worker_threads"), "Worker");
patch(require("node:inspector"), "Session");
patch(require("node:vm"), "runInNewContext");
patch(require("node:v8"), "setFlagsFromString");
