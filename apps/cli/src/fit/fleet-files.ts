import { fakeableBackends } from "@remat/dispatch-hook/backends";
import { RematError } from "@remat/trace";
import {
  checkpointings,
  groupingNames,
  lossNames,
  modelSizes,
  noOptimizer,
  optimizerNames,
  type StepRequest,
} from "@remat/tracer/step";
import * as v from "valibot";
import { type ModelSource, modelSource } from "../model-source.js";
import { hashOfFile, hashOfSource } from "./content-key.js";
import type { FitJob } from "./steps-of-job.js";

const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "expected a hash of 64 hexadecimal digits"));
const name = v.pipe(v.string(), v.maxLength(255));
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** A step described by names and numbers. It has no field that could contain a path or a module. */
const requestSchema = v.strictObject({
  size: v.optional(v.picklist(modelSizes)),
  batch: v.optional(count),
  loss: v.optional(v.picklist(lossNames)),
  optimizer: v.optional(v.picklist([...optimizerNames, noOptimizer])),
  backend: v.optional(v.picklist(fakeableBackends().map((backend) => backend.name))),
  allocationUnitBytes: v.optional(count),
  grouping: v.optional(v.picklist(groupingNames)),
  checkpointing: v.optional(v.picklist(checkpointings)),
  seed: v.optional(count),
  steps: v.optional(count),
  predict: v.optional(v.boolean()),
});

const filesSchema = v.strictObject({
  sources: v.pipe(v.array(v.strictObject({ hash, name })), v.minLength(1), v.maxLength(64)),
  request: requestSchema,
  layers: v.optional(hash),
});

/** A fleet job's files by the hashes of their content, and the step. */
export interface FleetFiles {
  readonly sources: readonly { readonly hash: string; readonly name: string }[];
  readonly request: StepRequest;
  readonly layers?: string;
}

/**
 * Returns the description of a job for a fleet, without paths.
 *
 * @throws errors of the file system for a file that cannot be read; an Error for anything but a regular file
 */
export function fleetFilesOf({ sources, options: { request, layers } }: FitJob): FleetFiles {
  const given = Object.entries(request).filter(([, value]) => value !== undefined);
  return {
    sources: sources.map((source) => ({ hash: hashOfSource(source), name: source.name })),
    request: Object.fromEntries(given),
    ...(layers !== undefined && { layers: hashOfFile(layers) }),
  };
}

/** The files that a worker computes answers for: those given to it at its start. */
export class GivenFiles {
  private readonly sources: readonly ModelSource[];
  private readonly layers: string | undefined;

  /**
   * @param targets models and recorded runs
   * @param layers a module with layers
   */
  constructor(targets: readonly string[], layers: string | undefined) {
    this.sources = targets.map((target) => modelSource(target));
    this.layers = layers;
  }

  /**
   * Returns the job that `files` describes, with the paths of this machine.
   *
   * @throws RematError `FIT_FLEET` if it is not a job, or names a file that this worker does not have
   */
  jobOf(files: unknown): FitJob {
    const parsed = v.safeParse(filesSchema, files, { abortEarly: true });
    if (!parsed.success) {
      const [issue] = parsed.issues;
      throw refusal(`a job's field '${v.getDotPath(issue) ?? "files"}': ${issue.message}`);
    }
    const { sources, request, layers } = parsed.output;
    if (layers !== undefined && (this.layers === undefined || hashOfFile(this.layers) !== layers))
      throw refusal("a job needs layers that this worker does not have. Start the worker with the same --layers");
    return {
      sources: sources.map((source) => ({ ...this.sourceOf(source.hash), name: source.name })),
      options: {
        request: request as StepRequest,
        data: undefined,
        layers: layers && this.layers,
      },
    };
  }

  /** Files are hashed each time, since they may have changed. */
  private sourceOf(wanted: string): ModelSource {
    for (const source of this.sources) if (hashOrNothing(source) === wanted) return source;
    throw refusal(
      `a job names a file that this worker does not have (sha256 ${wanted.slice(0, 12)}…). Start remat fit --serve with the same MODEL and package versions`,
    );
  }
}

/** A file that is gone or no longer a regular file does not match a job. */
function hashOrNothing(source: ModelSource): string | undefined {
  try {
    return hashOfSource(source);
  } catch {
    return undefined;
  }
}

function refusal(detail: string): RematError {
  return new RematError("FIT_FLEET", `${detail}.`);
}
