import type { SavedTensor } from "./engine-records.js";
import type { Session } from "./session.js";

/** Reports saved tensors to modes. @internal */
export function reportSaved(session: Session, saved: readonly SavedTensor[]): void {
  for (const open of session.modes.told.tensorsSaved) if (session.modes.isInside(open)) open.mode.tensorsSaved(saved);
}
