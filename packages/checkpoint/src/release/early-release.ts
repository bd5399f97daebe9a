import type { DispatchInterceptor, DispatchPolicy } from "@remat/dispatch-hook";
import type { UpdateReleaser } from "../update/update-releaser.js";

/** Settings of early release, without a choice of gradients. `updates` remembers the updates seen so far. @internal */
export const earlyRelease = (updates: UpdateReleaser): DispatchPolicy & DispatchInterceptor => ({
  releasesEarly: true,
  prunesSaved: true,
  sharesOnes: true,
  sharesSaved: true,
  applyGradients: (call, next) => updates.run(call, next),
});
