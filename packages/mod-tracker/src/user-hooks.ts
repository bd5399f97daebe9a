import { RematError } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { TrackedModule } from "./module-entry.js";

/**
 * Functions called around module passes. They may only observe: do not modify arguments or run ops. The module is in
 * `parents` while they run.
 */
export interface UserHooks {
  /** Called before a module's forward pass. */
  readonly preForward?: (module: TrackedModule, inputs: readonly Tensor[]) => void;
  /** Called after a module's forward pass. */
  readonly postForward?: (module: TrackedModule, inputs: readonly Tensor[], outputs: readonly Tensor[]) => void;
  /** Called before a module's backward pass, with the gradients of its outputs that have arrived. */
  readonly preBackward?: (module: TrackedModule, gradients: readonly Tensor[]) => void;
  /** Called after a module's backward pass, with the gradients of its inputs. */
  readonly postBackward?: (module: TrackedModule, gradients: readonly Tensor[]) => void;
}

/** Checks that no hook is registered twice. @internal */
export function checkHooks(registered: UserHooks, added: UserHooks): void {
  for (const name of Object.keys(added) as (keyof UserHooks)[])
    if (added[name] !== undefined && registered[name] !== undefined)
      throw new RematError(
        "HOOK_TAKEN",
        `a ${name} hook is already registered, and only one is allowed. Call clearUserHooks() first.`,
      );
}
