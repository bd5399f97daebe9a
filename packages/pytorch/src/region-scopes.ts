import type { TraceBuilder } from "@remat/trace";
import { lineAt, type OracleEvent, type OracleFile } from "./oracle-file.js";

/** Writes functions under `torch.utils.checkpoint` as scopes, which are entered again each time they are recomputed. */
export class RegionScopes {
  private readonly builder: TraceBuilder;
  private readonly file: OracleFile;
  /** The scopes by their number in the file. */
  private readonly scopes = new Map<number, number>();
  private readonly active: number[] = [];

  constructor(builder: TraceBuilder, file: OracleFile) {
    this.builder = builder;
    this.file = file;
  }

  /** Returns the innermost active scope, or -1. */
  get innermost(): number {
    return this.active.at(-1) ?? -1;
  }

  begin({ n = -1, name = "", re, l, bw }: OracleEvent, given: readonly number[] | undefined): void {
    let scope = this.scopes.get(n);
    if (bw === undefined) {
      const line = lineAt(this.file, l);
      scope = this.builder.scope(name, this.innermost, {
        checkpoint: re === 1 ? "reentrant" : "nonReentrant",
        ...(line !== undefined && { line }),
      });
      this.scopes.set(n, scope);
    }
    if (scope === undefined) throw new Error(`region ${n} is recomputed but never ran`);
    this.active.push(scope);
    this.builder.enterScope(scope, given);
  }

  end({ n = -1 }: OracleEvent, returned: readonly number[] | undefined): void {
    const scope = this.active.pop();
    if (scope === undefined || scope !== this.scopes.get(n))
      throw new Error(`region ${n} ends but is not the innermost`);
    this.builder.exitScope(scope, returned);
  }
}
