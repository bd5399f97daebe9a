import type { Trace } from "@remat/trace";
import { callModes } from "./call-modes.js";
import type { CheckpointObserver } from "./checkpoint-observer.js";
import type { CheckpointPolicy } from "./checkpoint-policy.js";
import { type CheckpointableUnits, checkpointableUnits } from "./checkpointable-units.js";
import { requirePlainStep } from "./require-plain-step.js";
import { CheckpointSimulator, type SimulatedCheckpoints } from "./simulate-checkpoints.js";
import { type StepScript, wholeScript } from "./step-script.js";

/** The steps of a trace of PyTorch, to be simulated under policies of `torch.utils.checkpoint`. */
export class CheckpointableSteps {
  readonly units: CheckpointableUnits;
  /** Without checkpointing. */
  readonly trace: Trace;
  private readonly script: StepScript;

  /**
   * @param trace of a training step without checkpointing
   * @throws RematError `TRACE_SAVES`, `TRACE_PHASE`, `TRACE_RECOMPUTES`
   */
  constructor(trace: Trace) {
    requirePlainStep(trace);
    this.trace = trace;
    this.script = wholeScript(trace);
    this.units = checkpointableUnits(this.script);
  }

  /** What checkpointing takes by itself under `policy`, beside its ops, which runtimes are of; 0 where nobody knows how long the host takes. */
  bookkeepingMs(policy: CheckpointPolicy): number {
    return this.run(policy).bookkeepingMs;
  }

  /** Tells `observer` of the step under `policy`. @internal */
  simulate(policy: CheckpointPolicy, observer: CheckpointObserver): void {
    this.run(policy, observer);
  }

  private run(policy: CheckpointPolicy, observer?: CheckpointObserver): SimulatedCheckpoints {
    const modes = callModes(this.units, policy, this.trace.ops.count);
    return new CheckpointSimulator(this.script, this.units, observer).run(modes);
  }
}
