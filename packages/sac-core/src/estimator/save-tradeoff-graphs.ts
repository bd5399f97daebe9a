import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { RematError } from "@remat/trace";
import { writeOutput } from "@remat/trace/files";
import { type SACTradeOffStats, tradeOffSvg } from "../index.js";

/**
 * Draws the trade-off of each module into `folder`, which is created if necessary, as `FQN.svg` and `FQN.png`.
 * Characters that a file system may not support are replaced, and names stay distinct.
 *
 * @returns paths of the files written
 * @throws RematError `GRAPHS_FOLDER` if the folder cannot be created; also errors of the file system
 * @example
 * await saveTradeoffGraphs([{ fqn: "Transformer", tradeOff: tradeOff(stats, order) }], "tradeoff_graphs");
 */
export async function saveTradeoffGraphs(
  modules: readonly { readonly fqn: string; readonly tradeOff: SACTradeOffStats }[],
  folder: string,
): Promise<readonly string[]> {
  // The rasterizer is native code that is needed only here.
  const { Resvg } = await import("@resvg/resvg-js");
  await makeFolder(folder);
  const written: string[] = [];
  for (const { fqn, tradeOff } of modules) {
    const svg = drawing(fqn, tradeOff);
    const base = join(folder, fileName(fqn));
    await writeOutput(`${base}.svg`, svg);
    await writeOutput(
      `${base}.png`,
      new Resvg(svg, { fitTo: { mode: "zoom", value: 2 }, font: { loadSystemFonts: true } }).render().asPng(),
    );
    written.push(`${base}.svg`, `${base}.png`);
  }
  return written;
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const found = code === "EEXIST" || code === "ENOTDIR" ? "it is, or is in, a file" : message;
    throw new RematError(
      "GRAPHS_FOLDER",
      `${folder}: cannot be used as the folder of graphs (${found}). Name another folder; it may be a new one.`,
      { cause },
    );
  }
}

function drawing(fqn: string, stats: SACTradeOffStats): string {
  const { discardedMemory, recomputationTime } = stats.tradeoffCurve;
  const original = Array.from(discardedMemory, (x, i) => [x, recomputationTime[i]] as const);
  const shifted = original.slice(0, -1).map(([x], i) => [x, recomputationTime[i + 1]] as const);
  return tradeOffSvg({
    title: fqn,
    memoryBytes: stats.sacMemoryBytes,
    runtimeMs: stats.sacRuntimeMs,
    original,
    shifted,
    breaks: stats.fitBreaks,
    slopes: stats.slopes,
    intercepts: stats.intercepts,
  });
}

/**
 * Returns a distinct name that is safe on every file system. If a character was replaced, a short hash of the whole
 * name follows.
 */
function fileName(fqn: string): string {
  const safe = fqn
    .replace(/[^A-Za-z0-9._-]/g, "_")
    .replace(/^\.+/, "_")
    .slice(0, 120);
  return safe === fqn && !/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(fqn)
    ? safe
    : `${safe}-${createHash("sha256").update(JSON.stringify(fqn)).digest("hex").slice(0, 8)}`;
}
