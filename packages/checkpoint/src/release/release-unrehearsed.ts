import { type CloseMode, openDispatchMode } from "@remat/dispatch-hook";
import { UpdateReleaser } from "../update/update-releaser.js";
import { earlyRelease } from "./early-release.js";

/**
 * Frees tensors early, like `releaseEarly` of the package's root, at half the bundle size. Returns a function that ends
 * it.
 *
 * Results are bitwise identical, and passes use the same memory. Weight updates are not rehearsed. The first update of
 * each kind records when its tensors are read, and frees no more than unmodified TensorFlow.js. The kinds are the very
 * first update, which creates slots, and the one after it.
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
