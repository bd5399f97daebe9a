import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "@remat/output-file";
import type { FitAnswer, FitUnit } from "../fit-unit.js";

/** Answers that are kept between searches, a file each, by what they are answers to: the content of the model or of the runs, and all of the unit. */
export class UnitCache {
  private readonly folder: string;
  private readonly contentKey: string;
  private readonly onUnwritable: (why: string) => void;
  private isTold = false;

  /** `contentKey`: of what units are computed from besides themselves; another one for whatever could give another answer; `onUnwritable`: told, once, why nothing can be kept. */
  constructor(folder: string, contentKey: string, onUnwritable: (why: string) => void) {
    this.onUnwritable = onUnwritable;
    this.folder = folder;
    this.contentKey = contentKey;
  }

  /** Returns what is known of a unit; a file that is damaged is as good as none. */
  get(unit: FitUnit): FitAnswer | undefined {
    try {
      const kept = JSON.parse(readFileSync(this.pathOf(unit), "utf8")) as { key?: unknown; answer?: FitAnswer };
      return kept.key === this.keyOf(unit) ? kept.answer : undefined;
    } catch {
      return undefined;
    }
  }

  /** Keeps an answer; where it cannot, that is told once, and the next search looks again. */
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
