import { type KernelAttributes, type KernelInputs, registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { RematError } from "@remat/trace";
import { Executor, type PassReport } from "../executor/executor.js";
import { checkBackend } from "../executor/supported-backend.js";
import { MemoryMeter } from "../memory-meter.js";
import { OnlinePolicy } from "./online-policy.js";

/** Watches ops outside of passes, too: an optimizer's temporaries count. */
class OnlineExecutor extends Executor {
  constructor(
    private readonly online: OnlinePolicy,
    meter: MemoryMeter,
  ) {
    super(online, meter);
  }

  override opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    if (this.isInPass) super.opComing(kernel, inputs, attributes);
    else this.online.opComing(kernel, inputs, attributes);
  }

  dataComing(bytes: number): void {
    this.online.dataComing(bytes);
  }
}

/**
 * Runs `fn`, synchronous or not, with all live bytes, by buffer, within `budgetBytes` at any time: weights, gradients, optimizer slots and what is held for
 * rebuilding included. Needs no plan and no trace, so steps may differ from each other; what was let go of is made again when it is touched.
 * Values are those of stock to the bit. A kernel's own scratch is outside of the budget.
 *
 * @throws BudgetError, and ends the step, when nothing more can be let go of; RematError `BACKEND_UNSUPPORTED` on backends other than
 * native and cpu
 * @example
 * await withOnlineBudget(2e9, () => model.fit(x, y));
 */
export function withOnlineBudget<T>(
  budgetBytes: number,
  fn: (execution: { readonly lastPass: PassReport | undefined }) => T,
): T {
  if (!(budgetBytes > 0) || budgetBytes === Number.POSITIVE_INFINITY)
    throw new RematError("BUDGET", `expected a budget in bytes above 0, found ${String(budgetBytes)}`);
  checkBackend();
  const meter = new MemoryMeter();
  const executor = new OnlineExecutor(new OnlinePolicy(budgetBytes, meter), meter);
  return withDispatchMode(executor, () => {
    meter.count(registeredVariables());
    return fn(executor);
  });
}
