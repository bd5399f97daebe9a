import { globalModule, RematError } from "@remat/trace";

/** Counts the calls of each module that are running, in the forward or backward pass. @internal */
export class ActiveModules {
  private readonly counts = new Map<string, number>();

  get names(): ReadonlySet<string> {
    return new Set([globalModule, ...this.counts.keys()]);
  }

  add(fqn: string): void {
    this.counts.set(fqn, (this.counts.get(fqn) ?? 0) + 1);
  }

  remove(fqn: string): void {
    const count = this.counts.get(fqn) ?? 0;
    if (count === 0)
      throw new RematError(
        "MODULE_ORDER",
        `module '${fqn}' ended more often than it began. Please report this as a bug.`,
      );
    if (count === 1) this.counts.delete(fqn);
    else this.counts.set(fqn, count - 1);
  }
}
