import { TraceFieldError } from "./trace-field-error.js";

/** @internal */
export function checkIndex(field: string, index: number, count: number): void {
  if (!(index >= 0 && index < count && Number.isInteger(index)))
    throw new TraceFieldError(
      field,
      count === 0
        ? `found ${index}, but none is known yet`
        : `expected an integer from 0 to ${count - 1}, found ${index}`,
    );
}

/** Checks an index like {@link checkIndex}, but also allows -1 for none. @internal */
export function checkOptionalIndex(field: string, index: number, count: number): void {
  if (index !== -1) checkIndex(field, index, count);
}

/** @internal */
export function checkIndices(field: string, indices: ArrayLike<number>, count: number): void {
  for (let i = 0; i < indices.length; i++) checkIndex(field, indices[i], count);
}

/** Checks a number of bytes, milliseconds or operations. @internal */
export function checkAmount(field: string, amount: number, unit: string): void {
  if (!(amount >= 0 && amount < Number.POSITIVE_INFINITY))
    throw new TraceFieldError(field, `expected a number of ${unit}, found ${amount}`);
}

/** Checks an amount like {@link checkAmount}, but also allows NaN for unknown. @internal */
export function checkKnownAmount(field: string, amount: number, unit: string): void {
  if (!Number.isNaN(amount)) checkAmount(field, amount, unit);
}

/** @internal */
export function checkShape(shape: readonly number[]): void {
  for (let i = 0; i < shape.length; i++)
    if (!(Number.isSafeInteger(shape[i]) && shape[i] >= 0))
      throw new TraceFieldError("shape", `expected sizes, found ${shape[i]} in dimension ${i}`);
}

/** @internal */
export function checkStrides(strides: readonly number[]): void {
  for (let i = 0; i < strides.length; i++)
    if (!Number.isSafeInteger(strides[i]))
      throw new TraceFieldError("strides", `expected integers, found ${strides[i]} in dimension ${i}`);
}
