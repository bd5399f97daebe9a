import type { BudgetPolicy } from "./budget-policy.js";

/** The most passes in a training that are recorded although they begin like a known one. */
const mostInVain = 20;

/** Decides which passes to record for planning, since recording a pass can take as long as running it. @internal */
export class WantedRecords {
  private readonly policy: Pick<BudgetPolicy, "predictedBytes" | "wasMistaken" | "wasAsked">;
  /**
   * `none`, `unknown` (passes that begin like none of the known ones), or `any` (also others, because one turned out to
   * differ from the pass it began like).
   */
  of: "none" | "unknown" | "any" = "any";
  /** How many already known passes have been recorded. */
  private inVain = 0;

  /** @param policy reports the outcome of the last pass */
  constructor(policy: Pick<BudgetPolicy, "predictedBytes" | "wasMistaken" | "wasAsked">) {
    this.policy = policy;
  }

  /** The recorded pass went as planned, or had been recorded before. */
  recordedInVain(): void {
    if (this.of === "any" && ++this.inVain >= mostInVain) this.of = "unknown";
  }

  /** A pass was not recorded. A known pass changes nothing. */
  notRecorded(): void {
    const { predictedBytes, wasMistaken, wasAsked } = this.policy;
    if (predictedBytes !== undefined || wasAsked) return;
    this.of = wasMistaken && this.inVain < mostInVain ? "any" : "unknown";
  }
}
