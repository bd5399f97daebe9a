/** Bytes alive at one moment on one device, by category and in total. The categories depend on who took the snapshot. */
export interface MemorySnapshot {
  readonly device: string;
  readonly totalBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
}
