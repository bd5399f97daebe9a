import { allocatorEnvironment } from "../native/index.js";

/** How Node is started for a training process. */
export interface TrainingProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execArgv: readonly string[];
}

/**
 * Returns environment and arguments of every process that trains or times ops: with the caching allocator if it is
 * built, and with the garbage collector exposed.
 */
export function trainingProcess(): TrainingProcess {
  return {
    env: { TF_CPP_MIN_LOG_LEVEL: "3", ...process.env, ...allocatorEnvironment() },
    execArgv: [...process.execArgv, "--expose-gc"],
  };
}
