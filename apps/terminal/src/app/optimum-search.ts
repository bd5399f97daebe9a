import type { ModulePolicy } from "@remat/planner";
import type { ModuleTradeOff } from "../document/trace-document.js";

/** Modules of up to this many ops are planned as soon as the budget rests; larger ones when asked for. */
const unaskedOps = 20_000;
/** How long the budget rests before it is planned for, so that holding a key down stays quick. */
const restMs = 120;

interface Wanted {
  readonly of: ModuleTradeOff;
  readonly budgetBytes: number;
}

/** Finds the optimal policy of a module in the background, for the last budget that was asked for. */
export class OptimumSearch {
  private wanted: Wanted | undefined;
  private answer: (Wanted & { readonly policy?: ModulePolicy; readonly error?: string }) | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly changed: () => void;

  constructor(changed: () => void) {
    this.changed = changed;
  }

  /** The policy for a budget, once it has been found. */
  of(of: ModuleTradeOff, budgetBytes: number): ModulePolicy | undefined {
    const { answer } = this;
    return answer?.of === of && answer.budgetBytes === budgetBytes ? answer.policy : undefined;
  }

  /** Why there is none. */
  describe(of: ModuleTradeOff): string {
    if (this.answer?.of === of && this.answer.error !== undefined) return this.answer.error;
    return of.stats.ops.length > unaskedOps && this.wanted === undefined
      ? "optimal policy: press o"
      : "optimal policy: looking for it";
  }

  /** Asks for the policy of a budget; `isUrgent`: however large the module is. */
  want(of: ModuleTradeOff, budgetBytes: number, isUrgent: boolean): void {
    if (of.stats.ops.length > unaskedOps && !isUrgent) return;
    const same = (other: Wanted | undefined): boolean => other?.of === of && other.budgetBytes === budgetBytes;
    if (same(this.wanted) || same(this.answer)) return;
    this.wanted = { of, budgetBytes };
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.find(), restMs);
  }

  /** Finds what was asked for last at once; whether anything was. */
  async finish(): Promise<boolean> {
    clearTimeout(this.timer);
    if (this.wanted === undefined) return false;
    await this.find();
    return true;
  }

  /** Nothing is looked for any more. */
  stop(): void {
    clearTimeout(this.timer);
    this.wanted = undefined;
  }

  private async find(): Promise<void> {
    const { wanted } = this;
    if (wanted === undefined) return;
    try {
      const { planModule } = await import("@remat/planner");
      const policy = await planModule(wanted.of.stats, { budgetBytes: wanted.budgetBytes });
      this.answer = { ...wanted, policy };
    } catch (error) {
      this.answer = { ...wanted, error: (error as Error).message };
    }
    if (this.wanted !== wanted) return;
    this.wanted = undefined;
    this.changed();
  }
}
