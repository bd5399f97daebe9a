import type { AllocatorKind, AllocatorVerdict, MemoryKind } from "../allocator-log.js";

/** How one program words its out-of-memory error. */
export interface Wording {
  /** The subject of the report: who could not allocate. `{device}` is the device that the text names. */
  readonly name: string;
  readonly kind: AllocatorKind;
  /** The memory that ran out. Undefined if the wording is the same for several. */
  readonly memory?: MemoryKind;
  /** The texts with which the report begins. */
  readonly starts: readonly string[];
  /** One of these texts must follow soon. */
  readonly followedBy?: readonly string[];
  /** The start must be at the beginning of a line, or be a whole line. */
  readonly position?: "line-start" | "whole-line";
  /**
   * Templates of the fields. The first that matches gives the field. Fields are those of `AllocatorLog` without
   * `Bytes`, and `own` (memory of this process), `reserved` (pooled and in use), `device`, `pid` and `process`.
   */
  readonly fields?: readonly string[];
  /** The report breaks off if it has none of these fields. */
  readonly lastFields?: readonly string[];
  /** The size is larger than any memory if one of these texts follows. */
  readonly absurdIf?: readonly string[];
  /** The object of the failed request, if the wording implies it. */
  readonly op?: string;
  /** The reason, if the wording alone determines it. */
  readonly verdict?: AllocatorVerdict;
  /** The process was killed. The value is true if the text says that memory was the reason. */
  readonly killedForMemory?: boolean;
}
