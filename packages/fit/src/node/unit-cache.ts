import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseJsonText } from "@remat/trace";
import { readInputText, replaceFile } from "@remat/trace/files";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { readAnswer } from "./read-answer.js";

/** This is far above the size of any answer. */
const mostBytes = 64 * 2 ** 20;

/**
 * Keeps answers between searches, each in a file. The key is made of the content of the model or runs, the code that
 * computes the answers, and the whole unit.
 */
export class UnitCache {
  private readonly folder: string;
  private readonly contentKey: string;
  private readonly onUnwritable: (why: string) => void;
  private readonly onRejected: (why: string) => void;
  private isTold = false;

  /**
   * Creates a cache in a folder.
   *
   * @param contentKey a hash of everything that answers depend on besides the unit
   * @param onUnwritable called once, with the reason, if answers cannot be written
   * @param onRejected called for each stored answer that is damaged or does not belong to its unit; such an answer is
   * computed again
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

  /** Returns the stored answer of a unit if it is valid, otherwise undefined. */
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
      // There is no file yet, or the folder is unusable, which `put` reports.
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
      this.onRejected(
        `${path}: ${error instanceof SyntaxError ? `not JSON (${error.message})` : (error as Error).message}`,
      );
      return undefined;
    }
  }

  /** Stores an answer. If that fails, `onUnwritable` is called once, and the next search computes the answer again. */
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
