import { type CheckpointableUnits, type CheckpointPolicy } from "@remat/memory/checkpointing";

/** A manual checkpointing policy, with its name. */
export interface HandPolicy {
  readonly name: string;
  readonly policy: CheckpointPolicy;
}

/**
 * Returns the usual manual checkpointing policies: the first k blocks of a list or of all lists one after the other,
 * every nth block, and all blocks, as with Hugging Face's `gradient_checkpointing_enable`. A list consists of numbered
 * modules with the same parent. Only the outermost lists count.
 *
 * @internal
 */
export function handPolicies(units: CheckpointableUnits): HandPolicy[] {
  const lists = blockLists(units.fqns);
  const all = lists.flat();
  const policies: HandPolicy[] = [];
  const add = (name: string, fqns: readonly string[]): void => {
    if (fqns.length > 0) policies.push({ name, policy: fqns.map(fullUnit) });
  };
  add("all blocks, as Hugging Face does", all);
  for (const list of lists.length > 1 ? [all, ...lists] : [all]) {
    for (let k = 1; k <= list.length; k++) add(k === 1 ? "the first block" : `the first ${k} blocks`, list.slice(0, k));
    for (let n = 2; n <= list.length / 2; n++)
      add(
        `every ${n}. block`,
        list.filter((_, i) => i % n === 0),
      );
  }
  return policies;
}

/** Returns the policy entry for full checkpointing of one module. @internal */
export function fullUnit(fqn: string): CheckpointPolicy[number] {
  return { fqn, saved: [] };
}

/** Returns the outermost modules whose names are numbers, grouped by their lists, in the order of their calls. */
function blockLists(fqns: readonly string[]): string[][] {
  const numbered = fqns.filter((fqn) => /\.\d+$/.test(fqn));
  const outermost = numbered.filter((fqn) => !numbered.some((other) => fqn.startsWith(`${other}.`)));
  const lists = new Map<string, string[]>();
  for (const fqn of outermost) {
    const list = fqn.slice(0, fqn.lastIndexOf("."));
    lists.set(list, [...(lists.get(list) ?? []), fqn]);
  }
  return [...lists.values()];
}
