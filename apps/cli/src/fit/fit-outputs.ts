import type { FitSummary, StepsToFit } from "@remat/fit";
import { checkFitStore, exportFitStore, fitParquet, storeFit } from "@remat/fit/node";
import type { ConsoleIo } from "../console-io.js";
import { checkFor, shownBeside, writeFor } from "../output.js";
import { appliedText } from "./applied-text.js";
import type { FitOptions } from "./fit-options.js";

/** The files that the answer of a search is written to. */
type OutputOptions = Pick<FitOptions, "apply" | "parquet" | "page" | "store" | "sqlite" | "label">;

/**
 * Checks the output files before the search, because the result of a long search would be lost if they cannot be
 * written. Returns the stream for the answer as text.
 */
export function checkOutputs(
  { apply, parquet, page, store, sqlite }: OutputOptions,
  io: ConsoleIo,
): ReturnType<typeof shownBeside> {
  const files = { "--apply": apply, "--parquet": parquet, "--html": page };
  const shown = shownBeside(io, files);
  for (const [option, path] of Object.entries({ ...files, "--sqlite": sqlite }))
    if (path !== undefined) checkFor(option, path);
  if (store !== undefined) checkFitStore(store);
  return shown;
}

/** Writes the answer of a search to its output files. */
export async function writeOutputs(
  summary: FitSummary,
  given: {
    readonly asked: OutputOptions;
    readonly steps: StepsToFit;
    readonly shownAs: { readonly pricedBy: string; readonly notes: readonly string[] };
    readonly io: ConsoleIo;
  },
): Promise<void> {
  const { asked, steps, shownAs, io } = given;
  const { apply, store, sqlite, parquet, page, label } = asked;
  const { best } = summary;
  if (apply !== undefined && best !== undefined) await writeFor("--apply", apply, await appliedText(best, steps), io);
  const search = { at: timeOfSearch(io), label };
  if (store !== undefined) storeFit(store, summary, search);
  if (store !== undefined && sqlite !== undefined) await exportFitStore(store, sqlite);
  if (parquet !== undefined) await writeFor("--parquet", parquet, await fitParquet(summary, search), io);
  if (page !== undefined) {
    const { renderFit } = await import("@remat/report");
    const notes = [`Times: ${shownAs.pricedBy}.`, ...shownAs.notes];
    await writeFor("--html", page, renderFit(summary, { notes }), io);
  }
}

/**
 * Returns the end time of the search, for the rows of the store. For reproducible output, `SOURCE_DATE_EPOCH` (in
 * seconds) replaces it.
 */
function timeOfSearch({ env }: Pick<ConsoleIo, "env">): string {
  const epoch = env["SOURCE_DATE_EPOCH"];
  return (epoch !== undefined && /^\d{1,10}$/.test(epoch) ? new Date(1000 * Number(epoch)) : new Date()).toISOString();
}
