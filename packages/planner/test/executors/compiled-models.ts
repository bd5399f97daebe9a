import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type FxGraphs, readFxGraphs } from "@remat/pytorch";

/** A compiled model under several budgets for activations, with what its step really saves and holds in PyTorch, in bytes. */
export interface CompiledCase {
  readonly name: string;
  readonly model: FxGraphs;
  /** Memory of its weights and buffers, including those that no graph reads. */
  readonly modelBytes: number;
  readonly measured: readonly { readonly budget: number; readonly savedBytes: number; readonly peakBytes: number }[];
}

interface CasesFile {
  readonly cases: readonly (Omit<CompiledCase, "model"> & { readonly file: unknown })[];
}

/** Cases written by tooling/pytorch-exporter/test/compiled_cases.py. */
export const compiledCases: readonly CompiledCase[] = (
  JSON.parse(
    gunzipSync(readFileSync(new URL("../fixtures/compiled-models.json.gz", import.meta.url))).toString(),
  ) as CasesFile
).cases.map(({ file, ...told }) => ({ ...told, model: readFxGraphs(file) }));
