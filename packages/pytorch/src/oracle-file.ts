import { type CheckpointingTimes, RematError } from "@remat/trace";
import type { AtenSchema } from "./aten-flags.js";
import { wrongInTables } from "./check-tables.js";

/** `"%3"` is tensor 3 of the file; `"str:…"` anything that is not JSON; `"obj:…"` an object of TorchScript; `"float:inf"`. */
export type Encoded = null | boolean | number | string | readonly Encoded[] | { readonly [name: string]: Encoded };

export interface OracleTensor {
  /** Storages. */
  readonly s: number | readonly number[];
  readonly dt: string;
  readonly sh: readonly number[];
  readonly st: readonly number[] | null;
}

export interface OracleModule {
  readonly fqn: string;
  readonly type: string;
  readonly n_children?: number;
  /** Names and tensors; of a sharded model names and shapes. */
  readonly params?: readonly (readonly [string, number | readonly number[], ...unknown[]])[];
  readonly buffers?: readonly (readonly [string, number])[];
}

/**
 * One event of the exporter, as far as it is an observation. What the oracle answers in the same place (times, bytes, categorised memory,
 * in-place parents) is deliberately not part of the type.
 */
export interface OracleEvent {
  readonly e: string;
  // op
  readonly f?: number;
  readonly a?: readonly Encoded[];
  /** Keyword arguments of an op; which hook (a string) of a hook. */
  readonly k?: Readonly<Record<string, Encoded>> | string;
  readonly o?: Encoded;
  readonly raised?: string;
  readonly bw?: number;
  readonly ac?: number;
  readonly opt?: number;
  /** Storages that the op wrote into and that were there before it; not those that the exporter puts back if the op runs again. */
  readonly w?: readonly number[];
  /** Whether it drew from a generator that the program made itself. */
  readonly g?: number;
  /** Active modules, unordered, with `Global`. */
  readonly p?: readonly number[];
  /** What the op took in milliseconds where it was timed, the median of so many runs. */
  readonly ms?: number;
  readonly runs?: number;
  /** What the op held while it ran, in bytes, beyond what it was given and returned. */
  readonly ws?: number;
  // modules and hooks
  readonly m?: number | null;
  readonly leaf?: number;
  readonly in?: Encoded;
  readonly x?: Encoded;
  readonly ph?: string;
  // storages
  readonly s?: number | readonly number[];
  readonly r?: string;
  readonly n?: number;
  // mark, region
  readonly name?: string;
  /** Of a region: whether it is in the re-entrant form. */
  readonly re?: number;
  /** The line of the program that it comes from, an index into `lines`. */
  readonly l?: number;
}

export interface OracleConfig {
  readonly device: string;
  readonly tflops: Readonly<Record<string, number>>;
  readonly dram_gbps: number;
  readonly min_allocate: number;
  /** Whether the run computed, or was on fake tensors, which is meant where nothing is said. */
  readonly mode?: "fake" | "real";
  /** Whose kernels stood in for those of the device, where they did. */
  readonly kernels?: string;
  /** What the host took to give a device beside it all ops of the step, in milliseconds, where they were timed there. */
  readonly host_ms?: number;
  /** What checkpointing takes on that machine beside the ops that it has run again, in milliseconds, where ops were timed. */
  readonly checkpoint_ms?: CheckpointingTimes;
  /** What was allocated on the device from the start and no storage of the file is, in bytes. */
  readonly besides?: number;
  readonly torch: string;
  readonly numpy?: string;
}

export interface OracleFile {
  readonly schema: string;
  readonly case: string;
  readonly config: OracleConfig;
  readonly events: readonly OracleEvent[];
  /** `declares` is missing in recordings of earlier exporters. */
  readonly funcs: readonly { readonly name: string; readonly declares?: AtenSchema }[];
  readonly fqns: readonly string[];
  readonly storages: readonly { readonly bytes: number; readonly dev: string }[];
  readonly tensors: readonly OracleTensor[];
  /** Lines of the recorded program, as `file:line`. */
  readonly lines?: readonly string[];
  readonly module_tree: readonly OracleModule[];
  readonly input?: Encoded;
  /** The same step recorded with its weights in other dtypes: files like this one, by dtype. */
  readonly recorded_in?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly type: string; readonly msg: string } | null;
}

/**
 * Returns the name of a module that an event tells by its place in `fqns`.
 *
 * @throws Error if there is none
 */
export function fqnAt({ fqns }: Pick<OracleFile, "fqns">, place: number): string {
  const fqn = fqns[place];
  if (fqn === undefined) throw new Error(`expected an index below ${fqns.length} among modules, found ${place}`);
  return fqn;
}

/**
 * Returns the line of the program that an event tells by its place in `lines`; undefined where it tells none.
 *
 * @throws Error if there is none at that place
 */
export function lineAt({ lines = [] }: Pick<OracleFile, "lines">, place: number | undefined): string | undefined {
  if (place === undefined || lines[place] !== undefined) return place === undefined ? undefined : lines[place];
  throw new Error(`expected an index below ${lines.length} among lines, found ${place}`);
}

/** Schemas that {@link readPyTorchTrace} understands. */
export const traceSchemas: readonly string[] = ["sac-oracle/1", "rt-oracle/1", "mem-oracle/1", "fsdp-oracle/1"];

/** Returns `value` as a file of the exporter, or an error that says what it lacks. */
export function asOracleFile(value: unknown): OracleFile {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new RematError(
      "PYTORCH_FILE",
      `not a file of the PyTorch exporter: expected an object with 'schema', found ${value === null ? "null" : Array.isArray(value) ? "a list" : typeof value}. Pass the parsed JSON of one of its files.`,
    );
  const file = value as Record<string, unknown>;
  if (!traceSchemas.includes(file["schema"] as string))
    throw new RematError(
      "PYTORCH_SCHEMA",
      `unknown schema ${JSON.stringify(file["schema"]) ?? "(none)"}: expected one of ${traceSchemas.join(", ")}. Export the run again with the exporter of this version.`,
    );
  for (const field of ["events", "funcs", "fqns", "storages", "tensors", "module_tree"])
    if (!Array.isArray(file[field]))
      throw new RematError(
        "PYTORCH_FILE",
        `field '${field}' of a ${String(file["schema"])} file: expected a list, found ${typeof file[field]}. Export the run again.`,
      );
  if (typeof file["config"] !== "object" || file["config"] === null)
    throw new RematError(
      "PYTORCH_FILE",
      `field 'config' of a ${String(file["schema"])} file: expected an object, found ${typeof file["config"]}. Export the run again.`,
    );
  const others = file["recorded_in"];
  if (others !== undefined && (typeof others !== "object" || others === null || Array.isArray(others)))
    throw new RematError(
      "PYTORCH_FILE",
      `field 'recorded_in' of a ${String(file["schema"])} file: expected files by dtype, found ${others === null ? "null" : typeof others}. Export the run again.`,
    );
  const wrong = wrongInTables(file);
  if (wrong !== undefined)
    throw new RematError("PYTORCH_FILE", `${wrong} of a ${String(file["schema"])} file. Export the run again.`);
  return file as unknown as OracleFile;
}
