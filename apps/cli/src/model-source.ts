import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { RematError } from "@remat/trace";

/** What the MODEL argument names. */
export type ModelSource =
  | { readonly kind: "keras"; readonly path: string; readonly name: string }
  | { readonly kind: "pytorch"; readonly path: string; readonly name: string }
  | { readonly kind: "graph"; readonly path: string; readonly name: string }
  | { readonly kind: "module"; readonly path: string; readonly name: string }
  | { readonly kind: "trace"; readonly path: string; readonly name: string };

const moduleEndings = new Set([".js", ".mjs", ".cjs", ".ts", ".mts"]);

/** Decides by ending and first bytes whether `path` is a Keras topology, an ES module, a trace or a graph. */
export function modelSource(path: string): ModelSource {
  const full = resolve(path);
  if (!existsSync(full))
    throw new RematError(
      "MODEL_NOT_FOUND",
      `${path}: no such file. Expected a tfjs-layers model.json, an ES module that exports a model, or a trace (.remat.jsonl, .remat.jsonl.gz).`,
    );
  const name = basename(path).replace(/(\.model)?\.json$|\.remat\.jsonl(\.gz)?$|\.[cm]?[jt]s$/, "");
  if (statSync(full).isDirectory()) {
    for (const entry of ["index.js", "index.mjs", "model.js", "model.json"]) {
      const inner = resolve(full, entry);
      if (existsSync(inner)) return { ...modelSource(inner), name: basename(full) };
    }
    throw new RematError(
      "MODEL_NOT_FOUND",
      `${path}: a folder without index.js, model.js or model.json. Name the file of the model.`,
    );
  }
  if (moduleEndings.has(extname(full))) return { kind: "module", path: full, name };
  if (full.endsWith(".json.gz")) return { kind: "pytorch", path: full, name: name.replace(/\.json\.gz$/, "") };
  const head = readHead(full);
  if ((head[0] === 0x1f && head[1] === 0x8b) || head.includes('"remat":"trace"'))
    return { kind: "trace", path: full, name };
  if (/^\s*\{\s*"schema"\s*:\s*"[a-z-]+-oracle\//.test(head.toString())) return { kind: "pytorch", path: full, name };
  if (head.includes('"rematerialization-graph/')) return { kind: "graph", path: full, name };
  if (full.endsWith(".json")) return { kind: "keras", path: full, name };
  if (/\.jsonl(\.gz)?$/.test(full)) return { kind: "trace", path: full, name };
  throw new RematError(
    "MODEL_UNKNOWN",
    `${path}: neither a model nor a trace. Expected a tfjs-layers model.json, an ES module (.js, .mjs), or a trace (.remat.jsonl, .remat.jsonl.gz).`,
  );
}

function readHead(path: string): Buffer {
  const buffer = Buffer.alloc(256);
  const file = openSync(path, "r");
  try {
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(file);
  }
}
