import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { trainingProcess } from "../../../apps/cli/dist/run/training-process.js";

const programOf = (name) => fileURLToPath(new URL(`${name}-process.js`, import.meta.url));

/** Training in a separate process, step by step. */
export class Stepper {
  constructor(job, program = "step") {
    this.job = job;
    this.child = fork(programOf(program), {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      ...trainingProcess(),
    });
    this.ended = once(this.child, "exit").then(([code, signal]) => ({ error: `it ended with ${signal ?? code}` }));
  }

  step() {
    return this.ask("step");
  }

  /**
   * Returns the highest `resident` bytes above the loaded process, the counted `peak`, and other answers of the
   * strategy.
   */
  async ask(question) {
    const { job, child, ended } = this;
    child.send({ job, question });
    const message = await Promise.race([once(child, "message").then(([received]) => received), ended]);
    if (message.error !== undefined)
      throw new Error(`bench:memory: ${job.source?.name ?? job.training}, ${job.way.kind}: ${message.error}`);
    return message.answer;
  }

  end() {
    this.child.kill("SIGKILL");
  }
}

/**
 * Runs steps of several strategies in turns, so that load on the machine affects all equally. The order changes from
 * round to round. The memory pages that a process happens to get make it a few percent faster or slower for its whole
 * life, so each of several sets of rounds has new processes. Between warm-up and rounds, and after these, a set's
 * processes may be queried.
 */
export async function takeTurns(jobs, { program, sets = 1, rounds, warmUpSteps, tell, warmedUp, over }) {
  const times = Object.fromEntries(Object.keys(jobs).map((name) => [name, { wallMs: [], cpuMs: [] }]));
  for (let set = 0; set < sets; set++) {
    const steppers = Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, new Stepper(job, program)]));
    const all = Object.entries(steppers);
    try {
      for (const [, stepper] of all) await warmUp(stepper, warmUpSteps);
      await warmedUp?.(steppers);
      for (let round = 0; round < rounds; round++) {
        tell(`round ${set * rounds + round + 1} of ${sets * rounds}`);
        for (let i = 0; i < all.length; i++) {
          const [name, stepper] = all[(i + round) % all.length];
          const { wallMs, cpuMs } = await stepper.step();
          times[name].wallMs.push(wallMs);
          times[name].cpuMs.push(cpuMs);
        }
      }
      await over?.(steppers);
    } finally {
      for (const [, stepper] of all) stepper.end();
    }
  }
  return times;
}

export async function warmUp(stepper, steps = 3) {
  for (let i = 0; i < steps; i++) await stepper.step();
}

/** Ratios of times to others in the same round. */
export function ratiosTo(times, others) {
  const ratios = (key) => times[key].map((ms, round) => ms / others[key][round]);
  return { wall: ratios("wallMs"), cpu: ratios("cpuMs") };
}
