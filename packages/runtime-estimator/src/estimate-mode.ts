import { RematError } from "@remat/trace";

/** The method for finding an op's time: the roofline model, or running the op. */
export type EstimateMode = "operator-level-cost-model" | "operator-level-benchmark";

/** Both estimate modes. */
export const estimateModes: readonly EstimateMode[] = ["operator-level-cost-model", "operator-level-benchmark"];

/**
 * Returns `mode` if it is one of the two modes.
 *
 * @throws RematError `ESTIMATE_MODE` for any other text
 * @example
 * parseEstimateMode("operator-level-cost-model");
 */
export function parseEstimateMode(mode: string): EstimateMode {
  const known = estimateModes.find((name) => name === mode);
  if (known !== undefined) return known;
  throw new RematError(
    "ESTIMATE_MODE",
    `estimate mode '${mode}' is not supported. Use '${estimateModes[0]}' (roofline, any device) or '${estimateModes[1]}' (runs every op on this machine).`,
  );
}
