import { type AllocatorLog, allocatorLog, readAllocatorLogs } from "@remat/memory/failure";
import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { readInput } from "@remat/trace/files";
import { cudaSnapshotImporter } from "./importers/cuda-snapshot.js";
import { readHead } from "./importers/file-head.js";
import { namingFile } from "./importers/naming-file.js";
import { parseJson } from "./importers/parse-json.js";

/**
 * Reads the out-of-memory reports of a file: a log, or a snapshot of PyTorch's CUDA allocator.
 *
 * @throws RematError `LOG_UNREADABLE`, `ALLOCATOR_LOG`, `CUDA_SNAPSHOT`
 */
export async function readFailureReports(path: string): Promise<readonly AllocatorLog[]> {
  const isSnapshot = reading(path, () => cudaSnapshotImporter.recognises(path, readHead(path)));
  return isSnapshot ? [await readSnapshotReport(path)] : readAllocatorLogs(readLog(path), path);
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new RematError(
      "LOG_UNREADABLE",
      `${path}: cannot be read (${(cause as Error).message}). Name a log with an out-of-memory error.`,
      { cause },
    );
  }
}

function readLog(path: string): string {
  const bytes = reading(path, () => readInput(path));
  // PowerShell's `2>` writes UTF-16.
  return new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-8").decode(bytes);
}

async function readSnapshotReport(path: string): Promise<AllocatorLog> {
  // A pickle must be converted first, which the importer explains.
  if (!/\.json(\.gz)?$/.test(path)) await cudaSnapshotImporter.read(path, {});
  const { readSnapshotFailure } = await import("@remat/pytorch");
  const failure = namingFile(path, () => readSnapshotFailure(parseJson(path)));
  if (failure === undefined)
    throw new RematError(
      "ALLOCATOR_LOG",
      `${path}: this snapshot has no out-of-memory error. To see what used the memory, run ${shell`remat memory ${shell.path(path)}`}.`,
    );
  const { device, ...state } = failure;
  return allocatorLog({ kind: "cuda", name: `GPU ${device}`, memory: "device", ...state });
}
