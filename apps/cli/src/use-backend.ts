import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";

export interface UsedBackend {
  readonly backend: BackendName;
  /** A sentence that names the selected package, and why earlier ones were not used. */
  readonly note: string;
}

/** Activates a real backend that can train: the best of that name, or of all. */
export async function useBackend(name: BackendName | undefined): Promise<UsedBackend> {
  const { backend, package: selected, usesGpu, attempts } = await selectBackend({ for: "training", backend: name });
  const failed = attempts
    .filter((attempt) => !attempt.selected)
    .map((attempt) => `${attempt.package}: ${attempt.reason}`);
  return {
    backend,
    note: `ops were timed on ${selected}${usesGpu ? ", on the GPU" : ""}${failed.length === 0 ? "" : `, because others did not work (${failed.join("; ")})`}`,
  };
}
