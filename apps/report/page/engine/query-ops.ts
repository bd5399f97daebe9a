import type { OpAnswer, OpQuery, Overview, SearchAnswer } from "./answers.js";
import { wellFormed } from "./well-formed.js";

/**
 * Returns the ops that match a query, in its order. Ops without a value are last in either direction.
 *
 * @param fate for each op: its fate under the policy, if the query uses it
 * @param keys for each op: sort keys that belong to a policy or a plan
 */
export function queryOps(
  { ops, names, modules }: Overview,
  query: OpQuery,
  fate: Uint8Array | undefined,
  keys: ArrayLike<number> | undefined,
): OpAnswer {
  const inModule = modulesWithin(modules, query.module);
  const text = comparable(query.text);
  const nameMatches = matching(names, text);
  const moduleMatches = matching(modules, text);
  const found = new Int32Array(ops.count);
  let count = 0;
  let memoryBytes = 0;
  let runtimeMs = 0;
  for (let op = 0; op < ops.count; op++) {
    const module = ops.module[op];
    if (inModule !== undefined && (module < 0 || inModule[module] === 0)) continue;
    if ((ops.marks[op] & query.marks) !== query.marks) continue;
    if (query.phase >= 0 && ops.phase[op] !== query.phase) continue;
    if (query.fate >= 0 && fate?.[op] !== query.fate) continue;
    if (text !== "" && nameMatches[ops.name[op]] === 0 && (module < 0 || moduleMatches[module] === 0)) continue;
    found[count++] = op;
    memoryBytes += ops.memoryBytes[op];
    if (ops.runtimeMs[op] > 0) runtimeMs += ops.runtimeMs[op];
  }
  const rows = found.slice(0, count);
  sortRows(rows, keysOf({ ops, names, modules }, query.sort, fate, keys), query.isDescending);
  return { rows, memoryBytes, runtimeMs };
}

/** Finds modules and ops whose names contain `text`, ignoring case. */
export function searchOps({ ops, names, modules }: Overview, text: string): SearchAnswer {
  const wanted = comparable(text.trim());
  if (wanted === "") return { modules: [], ops: new Int32Array(0) };
  // A number selects the op with that index.
  const number = /^#?(\d+)$/.exec(wanted);
  if (number !== null && Number(number[1]) < ops.count) return { modules: [], ops: Int32Array.of(Number(number[1])) };
  const matches = matching(names, wanted);
  const found = new Int32Array(ops.count);
  let count = 0;
  for (let op = 0; op < ops.count; op++) if (matches[ops.name[op]] === 1) found[count++] = op;
  return {
    modules: [...new Set(modules)].filter((fqn) => comparable(fqn).includes(wanted)),
    ops: found.slice(0, count),
  };
}

/** Ignores case. */
function comparable(text: string): string {
  return wellFormed(text).toLowerCase();
}

function modulesWithin(modules: readonly string[], fqn: string): Uint8Array | undefined {
  if (fqn === "") return undefined;
  const wanted = wellFormed(fqn);
  return Uint8Array.from(modules, (name) => {
    const known = wellFormed(name);
    return known === wanted || known.startsWith(`${wanted}.`) ? 1 : 0;
  });
}

function matching(texts: readonly string[], wanted: string): Uint8Array {
  return Uint8Array.from(texts, (text) => (wanted !== "" && comparable(text).includes(wanted) ? 1 : 0));
}

/** For each op the number to sort by, or undefined for execution order. */
function keysOf(
  { ops, names, modules }: Pick<Overview, "ops" | "names" | "modules">,
  sort: OpQuery["sort"],
  fate: Uint8Array | undefined,
  keys: ArrayLike<number> | undefined,
): ArrayLike<number> | undefined {
  switch (sort) {
    case "memoryBytes":
    case "runtimeMs":
    case "phase":
      return ops[sort];
    case "msps":
    case "freed":
    case "plan":
      return keys;
    case "fate":
      return fate && Float64Array.from(fate, (value) => (value === 255 ? Number.NaN : value));
    case "name":
    case "module": {
      const texts = sort === "name" ? names : modules;
      const place = new Float64Array(texts.length);
      [...texts.keys()]
        .sort((a, b) => (texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : 0))
        .forEach((id, i) => {
          place[id] = i;
        });
      return Float64Array.from(ops[sort], (id) => (id < 0 ? Number.NaN : place[id]));
    }
    default:
      return undefined;
  }
}

function sortRows(rows: Int32Array, keys: ArrayLike<number> | undefined, isDescending: boolean): void {
  if (keys === undefined) {
    if (isDescending) rows.reverse();
    return;
  }
  const sign = isDescending ? -1 : 1;
  rows.sort((a, b) => {
    const [x, y] = [keys[a], keys[b]];
    if (x === y) return a - b;
    if (Number.isNaN(x) || Number.isNaN(y))
      return Number.isNaN(x) === Number.isNaN(y) ? a - b : Number.isNaN(x) ? 1 : -1;
    return x < y ? -sign : sign;
  });
}
