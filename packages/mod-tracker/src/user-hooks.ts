import { RematError } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { TrackedModule } from "./module-entry.js";

/** Markers only: they must change neither what they are given nor run ops. The module is in `parents` while they run. */
export interface UserHooks {
  readonly preForward?: (module: TrackedModule, inputs: readonly Tensor[]) => void;
  readonly postForward?: (module: TrackedModule, inputs: readonly Tensor[], outputs: readonly Tensor[]) => void;
  /** `gradients` of the module's outputs, as far as they have arrived. */
  readonly preBackward?: (module: TrackedModule, gradients: readonly Tensor[]) => void;
  /** `gradients` of the module's inputs. */
  readonly postBackward?: (module: TrackedModule, gradients: readonly Tensor[]) => void;
}

/** @internal */
export function checkHooks(registered: UserHooks, added: UserHooks): void {
  for (const name of Object.keys(added) as (keyof UserHooks)[])
    if (added[name] !== undefined && registered[name] !== undefined)
      throw new RematError(
        "HOOK_TAKEN",
        `a ${name} hook is registered already and there can be only one; call clearUserHooks() first`,
      );
}
