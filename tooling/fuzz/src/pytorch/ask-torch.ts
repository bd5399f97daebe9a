import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A module as a row of steps; `random_modules.py` says what each does. */
export interface TorchStep {
  readonly does: string;
  readonly of?: number;
  readonly steps?: readonly TorchStep[];
}

/** What PyTorch's tools say of a module: a file, or why they refuse it. */
export interface TorchAnswer {
  readonly file?: string;
  readonly error?: string;
}

/** PyTorch in a process of its own, asked time and again. */
export class Torch {
  private readonly folder = mkdtempSync(join(tmpdir(), "remat-fuzz-"));
  private readonly child: ChildProcess;
  private readonly answers: AsyncIterator<string>;
  private asked = 0;

  /**
   * @param python one that has torch 2.13, numpy, pwlf, tabulate and pulp
   * @param oracle the folder of the scripts that made the goldens, with its compiled guard library
   */
  constructor(python: string, oracle: string) {
    const script = fileURLToPath(new URL("random_modules.py", import.meta.url));
    this.child = spawn(python, [script, oracle, this.folder], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, PYTHONHASHSEED: "0" },
    });
    this.answers = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
  }

  async ask(kind: "sac" | "mem", module: readonly TorchStep[]): Promise<TorchAnswer> {
    this.child.stdin?.write(`${JSON.stringify({ name: `${kind}_${this.asked++}`, kind, module })}\n`);
    const { value, done } = await this.answers.next();
    if (done === true) throw new Error("PyTorch's process has ended: what it said is above");
    return JSON.parse(value as string) as TorchAnswer;
  }

  close(): void {
    this.child.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
