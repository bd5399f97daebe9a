import { readFileSync } from "node:fs";
import { unzipSync } from "fflate";

/** Numbers as tooling/keras-oracle writes them. */
export interface Packed {
  readonly shape: number[];
  readonly dtype: "float32" | "int32";
  readonly values: number[];
}

/** Models as Keras saves them, an input and its answer: written by tooling/keras-oracle/write_files.py. */
export function savedFiles(generation: 2 | 3) {
  const files = unzipSync(readFileSync(new URL(`fixtures/keras-${generation}-files.zip`, import.meta.url)));
  const fileOf = (name: string): Uint8Array => files[name] as Uint8Array;
  const answers = JSON.parse(new TextDecoder().decode(fileOf("answers.json"))) as Record<
    string,
    { readonly inputs: Packed[]; readonly outputs: Packed[] }
  >;
  return { generation, fileOf, answers };
}
