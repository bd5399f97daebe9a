import { parseJsonText, RematError } from "@remat/trace";
import type { GraphImporter } from "./importer.js";
import { readModelText } from "./read-model-file.js";

/** A graph of ops with bytes and costs: a file that declares this format, or that has nodes and edges. */
export const graphImporter: GraphImporter = {
  name: "graph",
  gives: "graph",
  example: "graph.json",
  what: "a rematerialization graph",
  ending: /\.json$/,
  recognises: (path, { text }) =>
    text.includes('"rematerialization-graph/') ||
    (path.endsWith(".json") && /"(nodes|edges)"\s*:/.test(text) && hasNodesAndEdges(path)),
  read: (path) => parseLeniently(readModelText(path), path) as Record<string, unknown>,
};

function hasNodesAndEdges(path: string): boolean {
  try {
    const file = parseLeniently(readModelText(path), path);
    return typeof file === "object" && file !== null && "nodes" in file && "edges" in file;
  } catch {
    // The beginning of a damaged file looks like a graph, so the error is reported for a graph.
    return true;
  }
}

/** Parses JSON, including NaN and Infinity as Python writes them, so that an error can show the value at its node. */
function parseLeniently(text: string, path: string): unknown {
  try {
    return parseJsonText(text);
  } catch (cause) {
    try {
      return parseJsonText(
        text.replace(/"[^"\\]*(?:\\[^][^"\\]*)*"?|-?\b(?:NaN|Infinity)\b/g, (token) =>
          token.startsWith('"') ? token : JSON.stringify(token),
        ),
      );
    } catch {
      throw new RematError(
        "GRAPH_JSON",
        `${path}: not JSON (${(cause as Error).message}). Name a model, a trace, or a graph of schema rematerialization-graph/1.`,
        { cause },
      );
    }
  }
}
