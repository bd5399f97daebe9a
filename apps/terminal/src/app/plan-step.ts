import { formatBytes, formatMs, formatPercent } from "@remat/reporting";
import { Phase } from "@remat/trace";
import type { App } from "./app.js";

/** Plans the whole step for the budget of view 6, telling how far it has come; what it finds is in the app's state. */
export async function planStep(app: App, signal: AbortSignal): Promise<void> {
  const { devices } = app.state;
  const { trace } = app.document;
  devices.outcome = undefined;
  devices.point = undefined;
  if (!trace.hasPhase(Phase.backward)) {
    devices.outcome = "The trace has no backward pass, so there is no step to plan.";
    return;
  }
  devices.planning = { text: "reading the step" };
  app.changed();
  try {
    const { planCheckpointing } = await import("@remat/planner");
    const { point, infeasible } = await planCheckpointing(trace, {
      budgetFraction: devices.budgetShare,
      timeMs: app.host.planTimeMs,
      signal,
      onProgress: ({ elapsedMs, iterations, cost, smallestPeakBytes }) => {
        const best =
          cost === undefined
            ? `smallest peak so far ${formatBytes(smallestPeakBytes)}`
            : `best step so far ${formatMs(cost)}`;
        devices.planning = { text: `${(elapsedMs / 1000).toFixed(1)} s, ${iterations} changes tried; ${best}` };
        app.changed();
      },
    });
    devices.point = point;
    if (infeasible !== undefined)
      devices.outcome = `Nothing fits ${formatPercent(devices.budgetShare)} of the peak. The smallest found is ${formatBytes(infeasible.smallestFoundBytes)}; ${infeasible.occurrence} alone needs ${formatBytes(infeasible.lowerBoundBytes)}.`;
  } catch (error) {
    devices.outcome = (error as Error).message;
  }
}
