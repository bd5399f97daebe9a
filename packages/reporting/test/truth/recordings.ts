import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { goldensFolder } from "@remat/testkit";
import type { Trace } from "@remat/trace";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const folders = [
  goldensFolder,
  ...[
    "packages/pytorch/test/fixtures",
    "packages/sharding/test/fixtures",
    "examples/gpt2-pytorch",
    "examples/llama-pytorch",
  ].map((folder) => join(root, folder)),
];

/** A training step that was recorded in PyTorch and is in the repository. */
export interface Recording {
  readonly name: string;
  readonly trace: Trace;
}

/** Reads the recorded steps in the repository, one after the other. Files with other data are left out. */
export function* recordings(): Generator<Recording> {
  for (const folder of folders)
    for (const file of readdirSync(folder)) {
      if (!file.endsWith(".json.gz")) continue;
      const path = join(folder, file);
      const content: unknown = JSON.parse(gunzipSync(readFileSync(path)).toString());
      if (isRecording(content)) yield { name: relative(root, path), trace: readPyTorchTrace(content) };
    }
}

function isRecording(content: unknown): boolean {
  const { schema, events } = content as { readonly schema?: unknown; readonly events?: unknown };
  return /^(mem|rt|sac|fsdp)-oracle\/1$/.test(String(schema)) && Array.isArray(events);
}
