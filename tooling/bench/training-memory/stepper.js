import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { trainingProcess } from "../../../apps/cli/dist/run/training-process.js";

const program = fileURLToPath(new URL("step-process.js", import.meta.url));

/** Training in a process of its own, step by step. */
export class Stepper {
  /** Times of the steps that `takeTurns` took. */
  wallMs = [];
  cpuMs = [];

  constructor(job) {
    this.job = job;
    this.child = fork(program, {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      ...trainingProcess(),
    });
    this.ended = once(this.child, "exit").then(([code, signal]) => ({ error: `it ended with ${signal ?? code}` }));
  }

  step() {
    return this.ask("step");
  }

  /** `resident`: bytes above the loaded process, at most; `peak`: of what was counted; and what else the way to train answers. */
  async ask(question) {
    const { job, child, ended } = this;
    child.send({ job, question });
    const message = await Promise.race([once(child, "message").then(([received]) => received), ended]);
    if (message.error !== undefined)
      throw new Error(`bench:memory: ${job.source.name}, ${job.way.kind}: ${message.error}`);
    return message.answer;
  }

  forget() {
    this.wallMs = [];
    this.cpuMs = [];
  }

  end() {
    this.child.kill("SIGKILL");
  }
}

/**
 * Steps of several processes in turns, so that whatever else the machine does slows all of them alike. Who begins changes from round to round.
 */
export async function takeTurns(steppers, rounds, tell) {
  for (let round = 0; round < rounds; round++) {
    tell(`round ${round + 1} of ${rounds}`);
    for (let i = 0; i < steppers.length; i++) {
      const stepper = steppers[(i + round) % steppers.length];
      const { wallMs, cpuMs } = await stepper.step();
      stepper.wallMs.push(wallMs);
      stepper.cpuMs.push(cpuMs);
    }
  }
}

/** Times of one over times of another in the same round. */
export function ratiosTo(stepper, other) {
  const ratios = (key) => stepper[key].map((ms, round) => ms / other[key][round]);
  return { wall: ratios("wallMs"), cpu: ratios("cpuMs") };
}
