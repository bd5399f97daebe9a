import type { CheckpointPolicy } from "@remat/memory/checkpointing";
import { type CheckpointedRun, type ShardingPlan, usualWrap } from "@remat/sharding";
import { row, type Trace } from "@remat/trace";

/** An addition to a sharding plan, with its form in the text of a plan. A choice that changes nothing has no text. */
export interface ShardingChoice {
  readonly text: string;
  readonly changes: Partial<ShardingPlan>;
}

/** A way to wrap a model. */
export interface WrapChoice extends ShardingChoice {
  /** Names of modules that each form a group, in the order of their first calls. Some of them may be kept unsharded. */
  readonly blocks: readonly string[];
}

/**
 * Returns the ways to wrap a model, beginning with the usual one: each repeated block, blocks and the modules next to
 * them (embeddings, the head), pairs of blocks, blocks and their children, and the model as a whole.
 *
 * @internal
 */
export function wrapChoices(trace: Trace): readonly WrapChoice[] {
  const names = runningNames(trace);
  const wrap = usualWrap(trace);
  const patterns = wrap.map((pattern) => new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[^.]*")}$`));
  const blocks = names.filter((name) => patterns.some((pattern) => pattern.test(name)));
  const beside = names.filter(
    (name) => !name.includes(".") && !blocks.includes(name) && !blocks.some((block) => block.startsWith(`${name}.`)),
  );
  const inside = wrap
    .map((pattern) => `${pattern}.*`)
    .filter(() => names.some((name) => blocks.includes(parentOf(name))));
  const pairs = chunksOf(blocks, 2).filter(({ length }) => length > 1);
  const ofPatterns = (all: readonly string[], kept: readonly string[]): WrapChoice => ({
    text: all.map((pattern) => `wrap=${quoted(pattern)}`).join(","),
    changes: { wrap: all },
    blocks: kept,
  });
  return [
    ofPatterns(wrap, blocks),
    ...(beside.length > 0 && wrap[0] !== "*" ? [ofPatterns([...wrap, ...beside], blocks)] : []),
    ...(pairs.length > 1
      ? [
          {
            text: `wrap=${wrap.map(quoted).join(",wrap=")},${pairs.map((pair) => `wrap=${pair.join("+")}`).join(",")}`,
            changes: { wrap, groups: pairs.map((modules) => ({ modules, together: true })) },
            blocks: [],
          },
        ]
      : []),
    ...(inside.length > 0 ? [ofPatterns([...wrap, ...inside], blocks)] : []),
    ...(wrap.length > 0 ? [{ text: "wrap=", changes: { wrap: [] }, blocks: [] }] : []),
  ];
}

/**
 * Returns the ways to reshard after the forward pass: as usual, not at all, and over the ranks of a node.
 *
 * @internal
 */
export function reshardChoices(ranks: number, perNode: number | undefined): readonly ShardingChoice[] {
  return [
    { text: "", changes: {} },
    { text: "no-reshard", changes: { reshardAfterForward: false } },
    ...(perNode !== undefined && perNode > 1 && perNode < ranks && ranks % perNode === 0
      ? [{ text: `reshard=${perNode}`, changes: { reshardAfterForward: perNode } }]
      : []),
  ];
}

/**
 * Returns the choice that keeps these modules unsharded between the passes and reshards the others.
 *
 * @internal
 */
export function keptChoice(modules: readonly string[]): ShardingChoice {
  const named = asPatterns(modules, []);
  return {
    text: named.map((name) => `wrap=${quoted(name)}(no-reshard)`).join(","),
    changes: { groups: named.map((name) => ({ modules: [name], reshardAfterForward: false })) },
  };
}

/**
 * Returns a policy for `torch.utils.checkpoint` as settings of a sharding plan.
 *
 * @internal
 */
export function checkpointChoice(run: CheckpointedRun, policy: CheckpointPolicy): ShardingChoice {
  if (policy.length === 0) return { text: "", changes: {} };
  const bySaved = new Map<string, { readonly save: readonly string[]; readonly modules: string[] }>();
  for (const unit of policy) {
    const save = unit.saved.length === 0 ? [] : run.savedNames(unit);
    const key = save.join("+");
    const known = bySaved.get(key) ?? { save, modules: [] };
    bySaved.set(key, known);
    known.modules.push(withoutRoot(unit.fqn));
  }
  const entries = [...bySaved.values()].map(({ save, modules }) => ({
    modules: asPatterns(modules, runningNames(run.trace)),
    ...(save.length > 0 && { save }),
  }));
  return {
    text: entries
      .map(({ modules, save }) => {
        const saving = save === undefined ? "" : `(save=${save.join("+")})`;
        return `checkpoint=${modules.map(quoted).join("+")}${saving}`;
      })
      .join(","),
    changes: { checkpoint: entries },
  };
}

/**
 * Returns a pattern that matches exactly these modules. If there is none, it returns the names. Three or more
 * consecutive numbers become one pattern (`layers.[2-5]`), if they are within one ten, the limit of a range.
 */
function asPatterns(modules: readonly string[], all: readonly string[]): readonly string[] {
  const numbered = modules.map((name) => /^(\D*?)(\d+)(\D*)$/.exec(name));
  const [first] = numbered;
  if (first == null || numbered.some((each) => each?.[1] !== first[1] || each[3] !== first[3])) return modules;
  const [, before, , after] = first;
  const alike = all.filter(
    (name) =>
      name.startsWith(before) &&
      /^\d+$/.test(name.slice(before.length, name.length - after.length)) &&
      name.endsWith(after),
  );
  if (alike.length === modules.length) return [`${before}*${after}`];
  const numbers = numbered.map((each) => Number(each![2])).toSorted((a, b) => a - b);
  const runs: number[][] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run?.at(-1) === number - 1 && number % 10 !== 0) run.push(number);
    else runs.push([number]);
  }
  return runs.flatMap((run) => {
    if (run.length < 3) return run.map((number) => `${before}${number}${after}`);
    const tens = run[0] < 10 ? "" : String(Math.floor(run[0] / 10));
    return [`${before}${tens}[${run[0] % 10}-${run.at(-1)! % 10}]${after}`];
  });
}

/** Returns the modules that run and contain weights, without the root's name, in the order of their first calls. */
function runningNames(trace: Trace): readonly string[] {
  const { calls, modules, weights } = trace;
  const weighted = new Set<string>();
  for (let i = 0; i < weights.count; i++) {
    if (row(weights.parameters, i).length === 0) continue;
    for (let name = modules[weights.module[i]].fqn; name !== ""; name = parentOf(name)) weighted.add(name);
  }
  const names = new Set<string>();
  for (let call = 0; call < calls.count; call++) {
    const { fqn } = modules[calls.module[call]];
    if (weighted.has(fqn) && fqn.includes(".")) names.add(withoutRoot(fqn));
  }
  return [...names];
}

function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(".")));
}

/** Removes the root's name from the beginning of a module's name. */
function withoutRoot(fqn: string): string {
  return fqn.slice(fqn.indexOf(".") + 1);
}

function quoted(pattern: string): string {
  return /[*[]/.test(pattern) ? `'${pattern}'` : pattern;
}

function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
