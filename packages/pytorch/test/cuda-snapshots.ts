import type { CudaSnapshotFile, SnapshotEvent } from "../src/index.js";

const MiB = 2 ** 20;

/**
 * A snapshot with two earlier tensors, one of which is freed, and a step that makes three and frees two, one of them at
 * the address of a freed one. 20 MiB are reserved at first, 62 at most, 50 at the end.
 */
export function madeUpSnapshot(change: Partial<CudaSnapshotFile> = {}): CudaSnapshotFile {
  const trace: SnapshotEvent[] = [
    ["alloc", 8 * MiB, 2 * MiB, 0, 0],
    ["free_requested", 0, 3 * MiB, 0, -1],
    ["free_completed", 0, 3 * MiB, 0, -1],
    ["segment_alloc", 1000 * MiB, 12 * MiB, 0, 1],
    ["alloc", 1000 * MiB, 12 * MiB, 0, 1],
    ["segment_map", 2000 * MiB, 30 * MiB, 0, -1],
    ["alloc", 2000 * MiB, 30 * MiB - 100, 0, 2],
    ["free_requested", 1000 * MiB, 12 * MiB, 0, -1],
    ["free_completed", 1000 * MiB, 12 * MiB, 0, -1],
    ["segment_free", 1000 * MiB, 12 * MiB, 0, -1],
    ["alloc", 0, 1024, 0, -1],
  ];
  return {
    schema: "cuda-snapshot/1",
    settings: "",
    devices: [
      { device: 0, segments: [], trace: [] },
      {
        device: 1,
        segments: [
          {
            bytes: 20 * MiB,
            stream: 0,
            blocks: [
              [0, 1024, 1024, 1, -1],
              [1024, 5 * MiB - 1024, 0, 0, -1],
              [5 * MiB, 3 * MiB, 3 * MiB - 4, 1, 1],
              [8 * MiB, 2 * MiB, 2 * MiB, 1, 0],
              [10 * MiB, 10 * MiB, 0, 0, -1],
            ],
          },
          { bytes: 30 * MiB, stream: 0, blocks: [[2000 * MiB, 30 * MiB, 30 * MiB - 100, 1, 2]] },
        ],
        trace,
      },
    ],
    stacks: [[0, 1, 3], [2, 3], [0]],
    frames: [
      ["/usr/lib/python3/site-packages/torch/nn/modules/linear.py", 134, "forward"],
      ["/home/a/model.py", 12, "forward"],
      ["/home/a/train.py", 7, "step"],
      ["/home/a/train.py", 20, "<module>"],
    ],
    ...change,
  };
}
