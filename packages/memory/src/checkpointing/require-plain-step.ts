import { Phase, RematError, type Trace } from "@remat/trace";

/**
 * Checks that a trace is a training step without checkpointing.
 *
 * @throws RematError `TRACE_PHASE`, `TRACE_RECOMPUTES`
 * @internal
 */
export function requirePlainStep(trace: Trace): void {
  const { model = "a model" } = trace.header;
  if (!trace.hasPhase(Phase.backward))
    throw new RematError(
      "TRACE_PHASE",
      `the trace of '${model}' has ${trace.ops.count} ops but no backward pass. Record a training step.`,
    );
  if (trace.hasPhase(Phase.recompute))
    throw new RematError(
      "TRACE_RECOMPUTES",
      `the step of '${model}' already uses checkpointing, which the plan must decide. Record it without checkpointing.`,
    );
}
