/** A value that is computed when it is first asked for, and kept. */
export function lazy<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: compute() }).value;
}

/** Results by key, the `limit` used last. */
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
