import type { KernelAttributes } from "@remat/dispatch-hook/kernels";

/** Longer lists are data, such as values of a constant, and do not determine shape or cost. */
const longestList = 64;

/**
 * Returns the attributes of a kernel as plain JSON. Undefined values, functions and long data are left out. Numbers
 * that JSON lacks become text (`"Infinity"`). Returns the same object if nothing had to change.
 *
 * @internal
 */
export function recordedAttributes(attributes: KernelAttributes | undefined): KernelAttributes | undefined {
  if (attributes === undefined || attributes === null) return undefined;
  let used = 0;
  let plain = true;
  for (const name in attributes) {
    const value = attributes[name];
    if (value === undefined) continue;
    used++;
    if (!isPlain(value)) plain = false;
  }
  if (used === 0) return undefined;
  if (plain) return attributes;
  const kept: Record<string, unknown> = {};
  for (const name in attributes) {
    const value = asPlain(attributes[name]);
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

function isPlain(value: unknown): boolean {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value);
    case "string":
    case "boolean":
      return true;
    case "object":
      return Array.isArray(value) && value.length <= longestList && value.every(isPlain);
    default:
      return false;
  }
}

function asPlain(value: unknown): unknown {
  if (isPlain(value)) return value;
  if (typeof value === "number") return String(value);
  if (value === null || typeof value !== "object") return undefined;
  if (ArrayBuffer.isView(value)) return asPlain(Array.from(value as unknown as ArrayLike<number>));
  if (Array.isArray(value)) return value.length > longestList ? undefined : value.map((item) => asPlain(item) ?? null);
  return recordedAttributes(value as KernelAttributes);
}
