import type { Trace } from "@remat/trace";
import { callModes } from "./call-modes.js";
import type { CheckpointObserver } from "./checkpoint-observer.js";
import type { CheckpointPolicy } from "./checkpoint-policy.js";
import { type CheckpointableUnits, checkpointableUnits } from "./checkpointable-units.js";
import { requirePlainStep } from "./require-plain-step.js";
import { CheckpointSimulator, type SimulatedCheckpoints } from "./simulate-checkpoints.js";
import { type StepScript, wholeScript } from "./step-script.js";

/** Simulates the steps of a PyTorch trace under policies of `torch.utils.checkpoint`. */
export class CheckpointableSteps {
  readonly units: CheckpointableUnits;
  /** The step without checkpointing. */
  readonly trace: Trace;
  private readonly script: StepScript;

  /**
   * @param trace a training step without checkpointing
   * @throws RematError `TRACE_SAVES`, `TRACE_PHASE`, `TRACE_RECOMPUTES`
   */
  constructor(trace: Trace) {
    requirePlainStep(trace);
    this.trace = trace;
    this.script = wholeScript(trace);
    this.units = checkpointableUnits(this.script);
  }

  /**
   * Returns the overhead of checkpointing under `policy`, in addition to the recomputed ops, in milliseconds. It is 0
   * if the host's time is unknown.
   */
  bookkeepingMs(policy: CheckpointPolicy): number {
    return this.run(policy).bookkeepingMs;
  }

  /** Simulates the step under `policy` and reports its events to `observer`. @internal */
  simulate(policy: CheckpointPolicy, observer: CheckpointObserver): void {
    this.run(policy, observer);
  }

  private run(policy: CheckpointPolicy, observer?: CheckpointObserver): SimulatedCheckpoints {
    const modes = callModes(this.units, policy, this.trace.ops.count);
    return new CheckpointSimulator(this.script, this.units, observer).run(modes);
  }
}
