/** Returns a function that computes its value on first use and keeps it. */
export function lazy<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: compute() }).value;
}

/** Caches results by key, the `limit` most recently used. */
export function memoize<T>(compute: (key: string) => T, limit = 16): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    const value = known.has(key) ? (known.get(key) as T) : compute(key);
    known.delete(key);
    known.set(key, value);
    if (known.size > limit) known.delete(known.keys().next().value as string);
    return value;
  };
}

/**
 * Caches the last result of `compute`, which must be pure, for each first argument, for as long as that argument lives.
 */
export function rememberLast<Of extends object, Rest extends readonly unknown[], T>(
  compute: (of: Of, ...rest: Rest) => T,
): (of: Of, ...rest: Rest) => T {
  const known = new WeakMap<Of, { readonly rest: Rest; readonly value: T }>();
  return (of, ...rest) => {
    const last = known.get(of);
    if (last?.rest.every((item, i) => Object.is(item, rest[i]))) return last.value;
    const value = compute(of, ...rest);
    known.set(of, { rest, value });
    return value;
  };
}
