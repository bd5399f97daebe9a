import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A Python script with PyTorch in a separate process, queried repeatedly: a line of JSON in, a line of JSON out. */
export class Torch {
  private readonly folder = mkdtempSync(join(tmpdir(), "remat-fuzz-"));
  private readonly child: ChildProcess;
  private readonly answers: AsyncIterator<string>;

  /**
   * @param script called with the folder of the scripts that made the goldens, which contains a compiled guard library,
   * and an output folder
   * @throws Error if `REMAT_TORCH_PYTHON`, a Python that has torch 2.13, numpy, pwlf, tabulate and pulp, or
   * `REMAT_ORACLE`, that folder, is not set
   */
  constructor(script: URL) {
    const { REMAT_TORCH_PYTHON: python, REMAT_ORACLE: oracle } = process.env;
    if (python === undefined || oracle === undefined)
      throw new Error(
        "set REMAT_TORCH_PYTHON to a Python that has torch, and REMAT_ORACLE to the folder of the oracle's scripts",
      );
    this.child = spawn(python, [fileURLToPath(script), oracle, this.folder], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, PYTHONHASHSEED: "0" },
    });
    this.answers = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
  }

  async ask<Answer>(asked: object): Promise<Answer> {
    this.child.stdin?.write(`${JSON.stringify(asked)}\n`);
    const { value, done } = await this.answers.next();
    if (done === true) throw new Error("PyTorch's process has ended: what it said is above");
    return JSON.parse(value as string) as Answer;
  }

  close(): void {
    this.child.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
