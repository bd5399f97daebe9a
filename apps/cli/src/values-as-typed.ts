import type { CAC } from "cac";

/** No argument can hold it, and nothing that begins with it is a number, empty or an option. */
const mark = "\0";

/**
 * Has cac leave the values of options as they were typed: by itself it takes `1.10` for 1.1, an empty value for 0, and `-`, which stands for
 * standard output, for another option.
 */
export function markValues({ commands }: CAC, args: readonly string[]): string[] {
  const taking = new Set(
    commands.flatMap(({ options }) => options.filter(({ required }) => required === true).flatMap(flagsOf)),
  );
  const marked: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const [flag, ...value] = args[i].split("=");
    if (args[i] === "--") return [...marked, ...args.slice(i)];
    if (!taking.has(flag)) marked.push(args[i]);
    else if (value.length > 0) marked.push(`${flag}=${mark}${value.join("=")}`);
    else if (i + 1 < args.length && isValue(args[i + 1])) marked.push(`${flag}=${mark}${args[++i]}`);
    else marked.push(flag);
  }
  return marked;
}

/** Takes the marks away again, of an option that was given several times from each. */
export function unmarkValues(options: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(options))
    options[name] = Array.isArray(value) ? value.map(unmark) : unmark(value);
}

const unmark = (value: unknown): unknown =>
  typeof value === "string" && value.startsWith(mark) ? value.slice(mark.length) : value;

const isValue = (argument: string): boolean => argument === "-" || !argument.startsWith("-");

const flagsOf = ({ rawName }: { readonly rawName: string }): string[] =>
  rawName.split(/[\s,]+/).filter((flag) => flag.startsWith("-"));
