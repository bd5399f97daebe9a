import type { FitAnswer, FitUnit } from "../fit-unit.js";

/** What a thread is told. @internal */
export interface UnitOrder {
  readonly id: number;
  readonly unit: FitUnit;
}

/** What a thread tells. @internal */
export type UnitReport =
  | { readonly id: number; readonly batch: number }
  | { readonly id: number; readonly answer: FitAnswer }
  | { readonly id: number; readonly failure: { readonly message: string; readonly code: string | undefined } };
