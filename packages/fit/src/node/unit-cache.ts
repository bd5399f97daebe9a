import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseJsonText } from "@remat/trace";
import { readInputText, replaceFile } from "@remat/trace/files";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { readAnswer } from "./read-answer.js";

/** Far above what an answer has. */
const mostBytes = 64 * 2 ** 20;

/** Answers that are kept between searches, one file each, by what they are answers to: the content of the model or of the runs, the code that computes them, and all of the unit. */
export class UnitCache {
  private readonly folder: string;
  private readonly contentKey: string;
  private readonly onUnwritable: (why: string) => void;
  private readonly onRejected: (why: string) => void;
  private isTold = false;

  /**
   * `contentKey`: a hash of everything that answers depend on besides the unit; `onUnwritable`: called once with the reason why nothing can be kept; `onRejected`: called for each kept answer that
   * is damaged, or not an answer to its unit. It is computed again.
   */
  constructor(
    folder: string,
    contentKey: string,
    onUnwritable: (why: string) => void,
    onRejected: (why: string) => void = () => undefined,
  ) {
    this.onUnwritable = onUnwritable;
    this.onRejected = onRejected;
    this.folder = folder;
    this.contentKey = contentKey;
  }

  /** Returns the answer that is kept for a unit, if it can be one; otherwise undefined. */
  get(unit: FitUnit): FitAnswer | undefined {
    const path = this.pathOf(unit);
    try {
      const kept = parseJsonText(readInputText(path, { maxBytes: mostBytes })) as {
        readonly key?: unknown;
        readonly answer?: unknown;
      } | null;
      if (kept?.key !== this.keyOf(unit)) throw new Error("it is the answer to another question");
      return readAnswer(kept.answer, unit);
    } catch (error) {
      // Nothing is kept yet, or nothing can be: `put` reports the latter.
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
      this.onRejected(
        `${path}: ${error instanceof SyntaxError ? `not JSON (${error.message})` : (error as Error).message}`,
      );
      return undefined;
    }
  }

  /** Keeps an answer. If that fails, `onUnwritable` is called once, and the next search computes it again. */
  put(unit: FitUnit, answer: FitAnswer): void {
    try {
      mkdirSync(this.folder, { recursive: true });
      replaceFile(this.pathOf(unit), JSON.stringify({ key: this.keyOf(unit), answer }));
    } catch (error) {
      if (!this.isTold) this.onUnwritable((error as NodeJS.ErrnoException).code ?? (error as Error).message);
      this.isTold = true;
    }
  }

  private pathOf(unit: FitUnit): string {
    return join(this.folder, `${createHash("sha256").update(this.keyOf(unit)).digest("hex")}.json`);
  }

  private keyOf(unit: FitUnit): string {
    return JSON.stringify([this.contentKey, unit]);
  }
}
