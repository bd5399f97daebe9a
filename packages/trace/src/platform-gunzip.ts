/** What this package uses of the platform's `DecompressionStream`; browsers and Node have it. */
interface ByteTransform {
  readonly writable: { getWriter(): { write(bytes: Uint8Array): Promise<void>; close(): Promise<void> } };
  readonly readable: {
    getReader(): {
      read(): Promise<{ done: boolean; value?: Uint8Array }>;
      cancel(reason: unknown): Promise<void>;
    };
  };
}

/**
 * Decompresses gzip by the platform, several times faster than a library can, and hands the bytes on. `next` gives the compressed chunks.
 *
 * @param take says whether it wants more
 * @returns whether the stream was whole and sound, or `take` wanted no more of it; of an unsound one nobody knows how much has been handed on
 * @throws what `take` or the source throws
 * @internal
 */
export async function gunzipByPlatform(
  next: () => Promise<Uint8Array | undefined>,
  take: (bytes: Uint8Array) => boolean,
): Promise<"sound" | "enough" | "unsound"> {
  const Transform = (globalThis as { DecompressionStream?: new (format: "gzip") => ByteTransform }).DecompressionStream;
  if (Transform === undefined) return "unsound";
  const { writable, readable } = new Transform("gzip");
  const writer = writable.getWriter();
  const reader = readable.getReader();
  let refused: { error: unknown } | undefined;
  const pump = (async () => {
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) return "sound";
      try {
        if (take(value)) continue;
      } catch (error) {
        refused = { error };
      }
      await reader.cancel(refused?.error);
      return "enough";
    }
  })().catch(() => "unsound" as const);
  for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
    const written = writer.write(chunk).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([written, pump.then(() => false)]))) break;
  }
  void writer.close().catch(() => undefined);
  const sound = await pump;
  if (refused !== undefined) throw refused.error;
  return sound;
}
