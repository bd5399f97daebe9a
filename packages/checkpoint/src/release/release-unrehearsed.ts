import { type CloseMode, openDispatchMode } from "@remat/dispatch-hook";
import { UpdateReleaser } from "../update/update-releaser.js";
import { earlyRelease } from "./early-release.js";

/**
 * Frees early, as `releaseEarly` of the package's root does, in half of the code that a page has to load for that one. Gradients and weights are stock's to the bit, what passes
 * hold is the same; updates of the weights are not rehearsed: the first of a kind (the first of all, which makes slots, and the one after it) shows what
 * is read when, and frees what stock does. Returns what ends it.
 *
 * @example
 * import { releaseEarly } from "./index.js";
 *
 * const stop = releaseEarly();
 * await model.fit(x, y);
 * stop();
 */
export const releaseUnrehearsed = (): CloseMode =>
  openDispatchMode({ ...earlyRelease(new UpdateReleaser(undefined)), fasterGradients: "equal" });
