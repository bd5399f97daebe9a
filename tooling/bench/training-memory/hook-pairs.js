import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("hook-process.js", import.meta.url));

/**
 * Times of a step with the hook installed and no plan, over stock's, in pairs: two processes that both live to the end, stock's without the
 * hook, take steps in turns. Which one goes first alternates, so that other work on the machine slows both alike.
 */
export async function timeHookInPairs({ source, backend }, { rounds, tell }) {
  const stock = new Stepper({ source, backend, isHooked: false });
  const hooked = new Stepper({ source, backend, isHooked: true });
  try {
    // The first step comes after those that warm up.
    await stock.step();
    await hooked.step();
    const pairs = [];
    for (let round = 0; round < rounds; round++) {
      tell(`hook: round ${round + 1} of ${rounds}`);
      const inTurn = round % 2 === 0 ? [stock, hooked] : [hooked, stock];
      const times = new Map();
      for (const stepper of inTurn) times.set(stepper, await stepper.step());
      const [a, b] = [times.get(stock), times.get(hooked)];
      pairs.push({ wall: b.wallMs / a.wallMs, cpu: b.cpuMs / a.cpuMs });
    }
    return pairs;
  } finally {
    stock.end();
    hooked.end();
  }
}

class Stepper {
  constructor(job) {
    this.job = job;
    this.child = fork(program, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
  }

  async step() {
    this.child.send(this.job);
    const ended = once(this.child, "exit").then(([code, signal]) => ({ error: `it ended with ${signal ?? code}` }));
    const answer = await Promise.race([once(this.child, "message").then(([message]) => message), ended]);
    if (answer.error !== undefined) throw new Error(`bench:memory: a step of ${this.job.source.name}: ${answer.error}`);
    return answer;
  }

  end() {
    this.child.kill("SIGKILL");
  }
}
