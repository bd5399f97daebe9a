import { type CheckpointableUnits, type CheckpointPolicy } from "@remat/memory/checkpointing";

/** A policy as people write it by hand, with what they call it. */
export interface HandPolicy {
  readonly name: string;
  readonly policy: CheckpointPolicy;
}

/**
 * Returns what people checkpoint by hand: the first k blocks of a list, or of all lists one after the other, every nth of them, and all of them, as Hugging Face's
 * `gradient_checkpointing_enable` does. A list is the modules that stand under one name by number, the outermost that there are.
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

/** Full checkpointing of one module. @internal */
export function fullUnit(fqn: string): CheckpointPolicy[number] {
  return { fqn, saved: [] };
}

/** The outermost modules with a number for a name, by the list that they stand in, in order of their calls. */
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
