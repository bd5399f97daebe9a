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
    `the plan for '${plan.subject.name}' offloads, which saves nothing on the backend '${name}': ` +
      "it computes in host memory. Plan without a link, or pass { offloadsOnHost: true } (remat run --offload-on-host).",
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
    `the plan for '${plan.subject.name}' offloads, and a memory budget only recomputes. Use applyPlan, or a plan made without a link.`,
  );
}
