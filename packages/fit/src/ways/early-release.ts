import type { FitUnit } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";
import type { FitWay } from "./fit-way.js";
import { freeStep, msOfStep } from "./priced.js";
import { isSharded } from "./sharded.js";

/** The strategy that frees every tensor after its last use and recomputes nothing. */
export const earlyReleaseWay: FitWay = releasedWay("early-release", "everything is freed after its last use", false);

/** The strategy that also updates each weight as soon as its gradient is final. */
export const updateInBackwardWay: FitWay = releasedWay(
  "update-in-backward",
  "early release, and each weight is updated as soon as its gradient is final",
  true,
);

function releasedWay(name: FitWay["name"], purpose: string, updateInBackward: boolean): FitWay {
  return {
    name,
    purpose,
    isPlanned: () => false,
    refuses(unit: FitUnit, { releasedPeakAt, framework, name: model }: StepsToFit) {
      if (isSharded(unit)) return `${name} is for one device only, not for ${unit.configuration.ranks} ranks`;
      if (releasedPeakAt !== undefined) return undefined;
      return framework === "tfjs"
        ? `${name} needs the model, and ${model} is a recorded run`
        : `${name} is for TensorFlow.js only: PyTorch already frees by reference counts`;
    },
    async stepWith(unit, steps, batch) {
      const { optimizer } = unit.configuration;
      const { peakBytes, bytesByCategory } = await steps.releasedPeakAt!(batch, optimizer, updateInBackward);
      // The time of a step that does not fit is not reported, so its trace is not needed.
      const stepMs = peakBytes > unit.memoryBytes ? 0 : msOfStep(await freeStep(unit, steps, batch));
      return { batch, peakBytes, bytesByCategory, stepMs: stepMs || undefined, overhead: 0 };
    },
  };
}
