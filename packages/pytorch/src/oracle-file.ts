import { type CheckpointingTimes, RematError } from "@remat/trace";
import type { AtenSchema } from "./aten-flags.js";
import { wrongInTables } from "./check-tables.js";

/**
 * A value of the file. `"%3"` is tensor 3, `"str:…"` is a value that JSON cannot represent, `"obj:…"` is a TorchScript
 * object, and `"float:inf"` is a special number.
 */
export type Encoded = null | boolean | number | string | readonly Encoded[] | { readonly [name: string]: Encoded };

export interface OracleTensor {
  /** The storages of the tensor. */
  readonly s: number | readonly number[];
  readonly dt: string;
  readonly sh: readonly number[];
  readonly st: readonly number[] | null;
}

export interface OracleModule {
  readonly fqn: string;
  readonly type: string;
  readonly n_children?: number;
  /** Names and tensors, or names and shapes in a sharded model. */
  readonly params?: readonly (readonly [string, number | readonly number[], ...unknown[]])[];
  readonly buffers?: readonly (readonly [string, number])[];
}

/**
 * An observed event of the exporter. Its JSON also contains results of PyTorch's estimators (times, bytes, categorized
 * memory, in-place parents). The type deliberately leaves them out. `ms` is measured, not estimated.
 */
export interface OracleEvent {
  readonly e: string;
  // Fields of op events.
  readonly f?: number;
  readonly a?: readonly Encoded[];
  /** The keyword arguments of an op, or the name of a hook. */
  readonly k?: Readonly<Record<string, Encoded>> | string;
  readonly o?: Encoded;
  readonly raised?: string;
  readonly bw?: number;
  readonly ac?: number;
  readonly opt?: number;
  /** Existing storages that the op wrote into, except those that the exporter restores when the op runs again. */
  readonly w?: readonly number[];
  /** True if the op drew from a generator that the program created itself. */
  readonly g?: number;
  /** The active modules, unordered, with `Global`. */
  readonly p?: readonly number[];
  /** The median time of a timed op in milliseconds, over `runs` runs. */
  readonly ms?: number;
  readonly runs?: number;
  /** The scratch memory of the op in bytes, without its inputs and outputs. */
  readonly ws?: number;
  // Fields of module and hook events.
  readonly m?: number | null;
  readonly leaf?: number;
  readonly in?: Encoded;
  readonly x?: Encoded;
  readonly ph?: string;
  // Fields of storage events.
  readonly s?: number | readonly number[];
  readonly r?: string;
  readonly n?: number;
  // Fields of mark and region events.
  readonly name?: string;
  /** True if a region is in the reentrant form. */
  readonly re?: number;
  /** The line of the program from which the event comes, as an index into `lines`. */
  readonly l?: number;
}

export interface OracleConfig {
  readonly device: string;
  readonly tflops: Readonly<Record<string, number>>;
  readonly dram_gbps: number;
  readonly min_allocate: number;
  /** The mode of the run: with real values or with fake tensors. Default: fake. */
  readonly mode?: "fake" | "real";
  /** The device whose kernels were used instead of those of the run's device, if any. */
  readonly kernels?: string;
  /** The time that the host needs to launch all ops of the step, in milliseconds, if it was measured. */
  readonly host_ms?: number;
  /**
   * The overhead of checkpointing on the recording machine, without the recomputed ops, in milliseconds, if ops were
   * timed.
   */
  readonly checkpoint_ms?: CheckpointingTimes;
  /** Bytes on the device that belong to no storage of the file. They are allocated when the run begins. */
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
 * Returns the name of a module from its position in `fqns`.
 *
 * @throws Error if none exists
 */
export function fqnAt({ fqns }: Pick<OracleFile, "fqns">, place: number): string {
  const fqn = fqns[place];
  if (fqn === undefined) throw new Error(`expected an index below ${fqns.length} among modules, found ${place}`);
  return fqn;
}

/**
 * Returns a line of the program from its position in `lines`, or undefined without a position.
 *
 * @throws Error if there is no line at that position
 */
export function lineAt({ lines = [] }: Pick<OracleFile, "lines">, place: number | undefined): string | undefined {
  if (place === undefined || lines[place] !== undefined) return place === undefined ? undefined : lines[place];
  throw new Error(`expected an index below ${lines.length} among lines, found ${place}`);
}

/** Schemas that {@link readPyTorchTrace} supports. */
const traceSchemas: readonly string[] = ["sac-oracle/1", "rt-oracle/1", "mem-oracle/1", "fsdp-oracle/1"];

/**
 * Returns `value` as a file of the exporter.
 *
 * @throws RematError `PYTORCH_FILE` or `PYTORCH_SCHEMA`, with the reason
 */
export function asOracleFile(value: unknown): OracleFile {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new RematError(
      "PYTORCH_FILE",
      `not a file of remat's PyTorch exporter: expected an object with 'schema', found ${value === null ? "null" : Array.isArray(value) ? "a list" : typeof value}. Pass the parsed JSON of such a file.`,
    );
  const file = value as Record<string, unknown>;
  if (!traceSchemas.includes(file["schema"] as string))
    throw new RematError(
      "PYTORCH_SCHEMA",
      `unknown schema ${JSON.stringify(file["schema"]) ?? "(none)"}: expected one of ${traceSchemas.join(", ")}. Export the run again with this version of remat.`,
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
