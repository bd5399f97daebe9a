import type { BudgetPolicy } from "./budget-policy.js";

/** In a whole training, of passes that are recorded although they begin as one that is known. */
const mostInVain = 20;

/**
 * Of which passes a record is wanted, from which a plan can be made: to record one may take as long as to run it.
 *
 * @internal
 */
export class WantedRecords {
  private readonly policy: Pick<BudgetPolicy, "predictedBytes" | "wasMistaken" | "wasAsked">;
  /** None; those that begin as none that is known; or also others, since one has turned out to be another than it began as. */
  of: "none" | "unknown" | "any" = "any";
  /** How many passes of which all was known have been recorded. */
  private inVain = 0;

  /** @param policy tells what became of the last pass */
  constructor(policy: Pick<BudgetPolicy, "predictedBytes" | "wasMistaken" | "wasAsked">) {
    this.policy = policy;
  }

  /** A pass was recorded that was as planned, or that was recorded before. */
  recordedInVain(): void {
    if (this.of === "any" && ++this.inVain >= mostInVain) this.of = "unknown";
  }

  /** A pass was not recorded. One of which all is known leaves wanted what was. */
  notRecorded(): void {
    const { predictedBytes, wasMistaken, wasAsked } = this.policy;
    if (predictedBytes !== undefined || wasAsked) return;
    this.of = wasMistaken && this.inVain < mostInVain ? "any" : "unknown";
  }
}
