import type { ErrorCode } from "@remat/trace";
import type { FitAnswer, FitUnit } from "../fit-unit.js";

/**
 * A message to a thread.
 *
 * @internal
 */
export interface UnitOrder {
  readonly id: number;
  readonly unit: FitUnit;
}

/**
 * A message from a thread.
 *
 * @internal
 */
export type UnitReport =
  | { readonly id: number; readonly batch: number }
  | { readonly id: number; readonly answer: FitAnswer }
  | { readonly id: number; readonly failure: { readonly message: string; readonly code: ErrorCode | undefined } };
