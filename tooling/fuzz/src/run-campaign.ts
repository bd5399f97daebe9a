import type { BackendName } from "@remat/dispatch-hook/backends";
import type { Campaign, Finding } from "./campaign.js";
import { fuzzerKinds } from "./kinds.js";
import { startBackend } from "./start-backend.js";

/** Messages of a campaign's process to its parent. */
export type CampaignMessage =
  | { readonly trying: string }
  | { readonly found: Finding }
  | { readonly begun: true }
  | { readonly over: true };

interface CampaignRequest {
  readonly kind: string;
  readonly backend: BackendName;
  readonly seed: number;
  readonly ms: number;
  readonly leastTries?: number;
  readonly tell: (message: CampaignMessage) => void;
}

/** Runs one kind of fuzzer on one backend, in a separate process, and reports its tries and findings. */
export async function runCampaign({ kind, backend, seed, ms, leastTries = 1, tell }: CampaignRequest): Promise<void> {
  await startBackend(backend);
  const deadline = performance.now() + ms;
  const campaign: Campaign = {
    backend,
    seed,
    ms,
    leastTries,
    get isOver() {
      return performance.now() >= deadline;
    },
    trying: (trying) => tell({ trying }),
    found: (found) => tell({ found }),
  };
  tell({ begun: true });
  await fuzzerKinds[kind].run(campaign);
  tell({ over: true });
}
