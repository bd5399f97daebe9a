/**
 * Live bytes on one device at one moment, in total and by category. The categories depend on the tool that took the
 * snapshot.
 */
export interface MemorySnapshot {
  readonly device: string;
  /** Live bytes in all categories. */
  readonly totalBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
}
