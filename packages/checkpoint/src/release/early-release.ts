import type { DispatchInterceptor, DispatchPolicy } from "@remat/dispatch-hook";
import type { UpdateReleaser } from "../update/update-releaser.js";

/** All that early release does, to whatever gradients are taken; with what it knows of the updates that it has seen. @internal */
export const earlyRelease = (updates: UpdateReleaser): DispatchPolicy & DispatchInterceptor => ({
  releasesEarly: true,
  prunesSaved: true,
  sharesOnes: true,
  sharesSaved: true,
  applyGradients: (call, next) => updates.run(call, next),
});
