import { findBackend } from "@remat/dispatch-hook/backends";
import { deviceKind } from "@remat/memory";
import { offloads, type Plan, RematError } from "@remat/trace";
import { backend, getBackend } from "@tensorflow/tfjs-core";

/**
 * Rejects a plan that offloads if the backend's device is the host.
 *
 * @throws RematError `BACKEND_UNSUPPORTED`
 *
 * @internal
 */
export function checkOffloading(plan: Plan | undefined): void {
  if (plan === undefined) return;
  const name = getBackend();
  const { device } = findBackend(name).deviceOf(backend());
  if (deviceKind(device) !== "cpu") return;
  throw new RematError(
    "BACKEND_UNSUPPORTED",
    `the plan for '${plan.subject.name}' offloads, and the backend '${name}' computes in host memory, where that saves nothing. Expected a backend with memory of its own, such as tfjs-node-gpu with a GPU; plan without a link, or follow it all the same with { offloadsOnHost: true }, on the command line remat run --offload-on-host.`,
  );
}

/**
 * Rejects a plan that offloads under a memory budget, which works by recomputation alone.
 *
 * @throws RematError `PLAN_SUBJECT`
 *
 * @internal
 */
export function refuseOffloading(plan: Plan): Plan {
  if (!offloads(plan)) return plan;
  throw new RematError(
    "PLAN_SUBJECT",
    `the plan for '${plan.subject.name}' offloads, and a memory budget keeps to its bytes by recomputation alone. Follow it with applyPlan, or give one that was made without a link.`,
  );
}
