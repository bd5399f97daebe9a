import type { UpdateCall } from "@remat/dispatch-hook";
import type { PassReport } from "../executor/executor.js";
import type { MemoryMeter } from "../memory-meter.js";
import type { LaterSteps } from "../online/coming-work.js";
import type { OnlinePolicy } from "../online/online-policy.js";
import { type LaterUpdates, noLaterUpdates, rehearseLaterUpdates } from "../update/rehearse-update.js";
import type { UpdateReleaser } from "../update/update-releaser.js";
import type { Overrun } from "./overrun.js";

/** Rejects an update that exceeds the budget before it begins, so that no weights are left partly updated. @internal */
export class UpdateCheck {
  private readonly updates: UpdateReleaser;
  private readonly online: OnlinePolicy;
  private readonly overrun: Overrun;
  private readonly meter: MemoryMeter;

  constructor(updates: UpdateReleaser, online: OnlinePolicy, overrun: Overrun, meter: MemoryMeter) {
    this.updates = updates;
    this.online = online;
    this.overrun = overrun;
    this.meter = meter;
  }

  /**
   * Checks the coming update, and the pass before it if that has exceeded the budget.
   *
   * @param lastPass returns the report of the last pass
   * @throws BudgetError that names a budget for the pass, its update and later steps
   */
  check(call: UpdateCall, lastPass: () => PassReport | undefined): void {
    const { overrun, updates, online, meter } = this;
    let expected = updates.expect(call, meter);
    if (overrun.isOn) throw overrun.errorOfStep(expected?.mostBytes, rehearseLaterUpdates(call, meter));
    if (expected !== undefined && !online.hasRoom(expected.mostBytes)) {
      // The figure may date from a time when the update could free less.
      updates.forget(call);
      expected = updates.expect(call, meter);
    }
    if (expected !== undefined)
      online.updateComing(call.optimizer, expected.mostBytes, () =>
        this.laterSteps(lastPass(), rehearseLaterUpdates(call, meter)),
      );
  }

  private laterSteps(
    lastPass: PassReport | undefined,
    { mostBytes, slotBytes }: LaterUpdates = noLaterUpdates,
  ): LaterSteps {
    return { updateBytes: this.meter.liveBytes + mostBytes, passBytes: (lastPass?.peakBytes ?? 0) + slotBytes };
  }
}
