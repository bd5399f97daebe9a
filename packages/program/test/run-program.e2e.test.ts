import type { ChildProcess } from "node:child_process";
import { describe, expect, it } from "vitest";
import { forwardSignals } from "../src/forward-signals.js";
import { runStock, runUnder } from "./run-program-under.js";

const order = { kind: "exec", budget: "1GB" } as const;
const script = (text: string): string[] => [process.execPath, "-e", text];

describe("running a program", () => {
  it("has its exit code, and 128 and the signal's number where a signal ended it", async () => {
    expect((await runUnder(order, script("process.exit(7)"))).exitCode).toBe(7);
    expect((await runUnder(order, script("process.kill(process.pid, 'SIGTERM')"))).exitCode).toBe(143);
    expect((await runUnder(order, script("process.kill(process.pid, 'SIGKILL')"))).exitCode).toBe(137);
  });

  it("reports nothing of a program without tfjs", async () => {
    expect(await runUnder(order, script("console.log(1)"))).toMatchObject({ exitCode: 0, stdout: "1\n", reports: [] });
  });

  it("refuses a program that is not there, in one line with an example", async () => {
    const start = runUnder(order, ["remat-has-no-such-program"]);
    await expect(start).rejects.toMatchObject({
      code: "PROGRAM_START",
      message: expect.stringMatching(/node train.js/),
    });
  });

  it("refuses an empty command", async () => {
    await expect(runUnder(order, [])).rejects.toMatchObject({
      code: "PROGRAM_START",
      message: expect.stringMatching(/^the command is empty\. .*node train\.js/),
    });
  });

  it("names the budget that would do where one does not, and fails as the program does", async () => {
    const { exitCode, reports } = await runUnder({ kind: "exec", budget: "100B" }, ["node", "loop.cjs"]);
    expect(exitCode).toBe(1);
    expect(reports).toMatchObject([
      { problem: expect.stringMatching(/more than the budget of 100 B\. Raise the budget to \d+B/) },
    ]);
  });

  it("releases early with the same results, and no op watched after the first passes", async () => {
    const { stdout, reports } = await runUnder({ kind: "exec" }, ["node", "loop.cjs"]);
    const losses = (text: string) => text.replace(/methods.*/, "");
    expect(losses(stdout)).toBe(losses(runStock(["node", "loop.cjs"])));
    expect(reports).toMatchObject([{ passes: 11, executed: { recomputedOps: 0, countedPasses: 6 } }]);
    expect(reports[0].executed?.peakBytes).toBeGreaterThan(0);
  });

  it("counts what early release holds until each optimizer has updated three times, however many passes that takes", async () => {
    const program = `const tf = require("@tensorflow/tfjs");
      const w = tf.variable(tf.scalar(1)), sgd = tf.train.sgd(0.1);
      for (let pass = 0; pass < 8; pass++) {
        const x = tf.ones([pass === 5 ? 1000 : 1]);
        const { value, grads } = tf.variableGrads(() => x.mul(w).mean());
        if (pass % 2 === 1) sgd.applyGradients(grads);
        tf.dispose([x, value, grads]);
      }`;
    const { reports } = await runUnder({ kind: "exec" }, ["node", "-e", program]);
    expect(reports).toMatchObject([{ passes: 8, executed: { countedPasses: 6 } }]);
    expect(reports[0].executed?.peakBytes).toBeGreaterThan(8000);
  });

  it("keeps a budget from the first step on", async () => {
    const command = ["node", "fit.mjs"];
    const { stdout, reports } = await runUnder({ kind: "exec", budget: "10KB" }, command);
    expect(stdout).toBe(runStock(command));
    expect(reports).toMatchObject([{ passes: 9, executed: { budgetBytes: 10_000 } }]);
    expect(reports[0].executed?.heldBytes).toBeLessThanOrEqual(10_000);
  });
});

describe("signals", () => {
  it("go to the program, but not those that its terminal has sent it, until that is over", () => {
    const sent: unknown[] = [];
    const child = { kill: (signal: string) => sent.push(signal) } as unknown as ChildProcess;
    const stop = forwardSignals(child, false);
    const stopInTerminal = forwardSignals(child, true);
    process.emit("SIGUSR2");
    process.emit("SIGQUIT");
    expect(sent).toEqual(["SIGUSR2", "SIGUSR2", "SIGQUIT"]);
    stop();
    stopInTerminal();
    expect(process.listenerCount("SIGUSR2")).toBe(0);
  });
});
