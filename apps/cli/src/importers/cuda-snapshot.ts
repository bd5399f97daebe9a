import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import type { RunImporter } from "./importer.js";
import { namingFile } from "./naming-file.js";
import { parseJson } from "./parse-json.js";

/** A snapshot of PyTorch's CUDA allocator, as written by `remat.export_snapshot` in Python. */
export const cudaSnapshotImporter: RunImporter = {
  name: "cuda-snapshot",
  gives: "run",
  example: "snapshot.json.gz",
  what: "a snapshot of the PyTorch CUDA allocator, from python -m remat snapshot",
  ending: /(\.json(\.gz)?|\.pickle|\.pkl)$/,
  recognises: (path, { text }) => /^\s*\{\s*"schema"\s*:\s*"cuda-snapshot\//.test(text) || /\.(pickle|pkl)$/.test(path),
  read: async (path) => {
    if (/\.(pickle|pkl)$/.test(path))
      throw new RematError(
        "CUDA_SNAPSHOT",
        `${path}: a pickle, which only Python can read. Run ${shell`python -m remat snapshot ${shell.path(path)} snapshot.json.gz`} and use snapshot.json.gz.`,
      );
    const { readCudaSnapshot } = await import("@remat/pytorch");
    const json = parseJson(path);
    return namingFile(path, () => readCudaSnapshot(json));
  },
};
