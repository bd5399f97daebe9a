import { planModule } from "@remat/planner/module-policy";
import { greedyPolicy, type PolicyView, policyOf, type TradeOffPoint, viewTradeOff } from "@remat/reporting";
import { greedyOrder, type SACGreedyOrderMeta, type SACStats, tradeOff } from "@remat/sac-core";
import type { PolicyAnswer, SacAnswer, SacColumns } from "./answers.js";
import { sacColumns } from "./sac-columns.js";

/** Larger modules are not solved to the optimum interactively. */
const mostOpsToSolve = 40_000;
/** Number of budgets for the optimal curve. */
const curveBudgets = 24;

/** One module's trade-off and policies. Results are cached. */
export class SacModule {
  private readonly fqn: string;
  private readonly stats: SACStats;
  private readonly order: SACGreedyOrderMeta;
  private readonly totalBytes: number;
  private curve: ReturnType<typeof tradeOff> | undefined;
  private optimum: readonly TradeOffPoint[] | undefined;

  constructor(fqn: string, stats: SACStats) {
    this.fqn = fqn;
    this.stats = stats;
    this.order = greedyOrder(stats);
    this.totalBytes = stats.memoryBytes.reduce((sum, bytes) => sum + bytes, 0);
  }

  answer(limit?: number): SacAnswer {
    this.curve ??= tradeOff(this.stats, this.order, { nSegments: 2 });
    return { fqn: this.fqn, view: viewTradeOff(this.curve, limit), opCount: this.stats.ops.length };
  }

  async policy(keptShare: number, wantsOptimal: boolean): Promise<PolicyAnswer> {
    const budgetBytes = Math.ceil(keptShare * this.totalBytes);
    const greedy = greedyPolicy(this.stats, this.order, budgetBytes);
    const solved = wantsOptimal ? await this.solve(budgetBytes) : undefined;
    return {
      fqn: this.fqn,
      ops: this.stats.ops,
      greedy,
      optimal: typeof solved === "object" ? solved : undefined,
      whyNotOptimal: typeof solved === "string" ? solved : undefined,
    };
  }

  columns(opCount: number): SacColumns {
    return sacColumns(this.stats, this.order, opCount);
  }

  /** Points at equal distances of memory. Points whose budget is below the memory that must be stored are left out. */
  async optimalCurve(): Promise<readonly TradeOffPoint[]> {
    if (this.optimum !== undefined) return this.optimum;
    const totalMs = this.stats.runtimesMs.reduce((sum, ms) => sum + ms, 0);
    const points: TradeOffPoint[] = [];
    if (this.stats.ops.length <= mostOpsToSolve && this.totalBytes > 0 && totalMs > 0)
      for (let i = 0; i <= curveBudgets; i++) {
        // Lets other questions be answered in between.
        await new Promise((resolve) => setTimeout(resolve));
        const solved = await this.solve(Math.ceil((1 - i / curveBudgets) * this.totalBytes));
        if (typeof solved === "string") break;
        points.push([1 - solved.storedBytes / this.totalBytes, solved.recomputationMs / totalMs]);
      }
    return (this.optimum = points);
  }

  private async solve(budgetBytes: number): Promise<PolicyView | string> {
    if (this.stats.ops.length > mostOpsToSolve)
      return `${this.stats.ops.length} ops are more than are solved here; choose a module within`;
    try {
      const { isStored } = await planModule(this.stats, { budgetBytes });
      return policyOf(this.stats, this.order, budgetBytes, isStored);
    } catch (error) {
      return (error as Error).message;
    }
  }
}
