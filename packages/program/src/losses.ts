import { mkdtempSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeFailedOperation } from "./describe-failed-operation.js";
import {
  type FailedOperation,
  lossMarkName,
  lossSignal,
  type OperationKind,
  saidBy,
} from "./outside/failed-operation.js";
import type { ThreadReport } from "./thread-report.js";

/**
 * Collects the failed reads and writes of the runner and the program's threads in the program's folder. The first one
 * is reported.
 *
 * @internal
 */
export class Losses {
  private readonly folder: string;
  private failure: FailedOperation | undefined;
  private isSignalled = false;
  private readonly heard = (): void => {
    this.isSignalled = true;
  };

  constructor(folder: string) {
    this.folder = folder;
    process.on(lossSignal, this.heard);
    this.attempt(join(folder, lossMarkName), (path) => writeFileSync(path, ""));
  }

  /** Runs one of the runner's operations on a path in the folder. If it fails, notes that and returns undefined. */
  attempt<T>(path: string, operation: (path: string) => T): T | undefined {
    try {
      return operation(path);
    } catch (error) {
      this.note(path, error);
      return undefined;
    }
  }

  note(path: string, error: unknown): void {
    this.failure ??= { doing: "write", path, ...saidBy(error) };
  }

  /** Describes in one line what has been lost so far. Returns undefined if nothing was. */
  describe(reports: readonly ThreadReport[]): string | undefined {
    const [told] = reports.flatMap(({ lost }) => lost ?? []);
    const failure = told ?? this.marked() ?? this.failure ?? (this.isSignalled ? this.probed() : undefined);
    return failure && describeFailedOperation(failure);
  }

  close(): void {
    process.off(lossSignal, this.heard);
  }

  /** A failure that a thread marked because it could not write it. */
  private marked(): FailedOperation | undefined {
    const names = this.attempt(this.folder, (path) => readdirSync(path)) ?? [];
    const marks = new RegExp(`^\\d+-\\d+-${lossMarkName}-(write|read|load)-(\\w+)$`);
    for (const name of names) {
      const [, doing, code] = marks.exec(name) ?? [];
      if (doing !== undefined && code !== undefined)
        return { doing: doing as OperationKind, path: join(this.folder, "report"), code, message: code };
    }
    return undefined;
  }

  /** Probes the folder if a thread could not even leave a mark. The same operation may fail here. */
  private probed(): FailedOperation {
    const path = join(this.folder, "report");
    try {
      rmdirSync(mkdtempSync(join(this.folder, "probe-")));
      return { doing: "write", path, code: "ERROR", message: "a process of the program could not do it" };
    } catch (error) {
      return { doing: "write", path, ...saidBy(error) };
    }
  }
}
