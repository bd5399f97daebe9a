import type { FxGraphs } from "@remat/pytorch";
import type { Plan, Trace } from "@remat/trace";
import type { FileHead } from "./file-head.js";

/**
 * Reads one kind of file that can be given as MODEL. Each file in this folder exports one, listed in `importers.ts`.
 */
export type Importer = ModelImporter | RunImporter | GraphImporter | CompiledImporter | PlanImporter;

/** The kind of content that a file provides. */
export type SourceKind = Importer["gives"];

interface ImporterFacts {
  /** Identifies it in another process. */
  readonly name: string;
  /** For help: an example name, and a description of the content. */
  readonly example: string;
  readonly what: string;
  /** The suffix of such a file's name that is not part of the model's name. */
  readonly ending: RegExp;
  /** Names of the files in a folder that the terminal app offers. Left out: none. */
  readonly offered?: RegExp;
  /** Recognises such a file. Importers later in the list are then not asked. */
  recognises(path: string, head: FileHead): boolean;
}

/** Imports a model, whose steps can be traced and run. */
export interface ModelImporter extends ImporterFacts {
  readonly gives: "model";
  /** True if its models have no training step, so that only commands with `--predict` accept them. */
  readonly isForPrediction?: true;
  /** True if its models can have the user's own layers, and weights from another file. */
  readonly takesParts?: true;
  /**
   * Returns the model factory (see `defineModel`). Loads neither the hook nor a backend, since unmodified steps use it
   * as well.
   *
   * @throws RematError of the reader
   */
  load(path: string, parts: ModelParts): Promise<unknown>;
}

/** Parts of a model besides its file. */
export interface ModelParts {
  /** A module with custom layers. */
  readonly layers?: string | undefined;
  /** A file with weights, in place of the model's own. */
  readonly weights?: string | undefined;
  /** True if the values of weights matter, as when steps are run. */
  readonly readsWeights: boolean;
}

/** Imports a recorded run. */
export interface RunImporter extends ImporterFacts {
  readonly gives: "run";
  read(path: string, options: ReadRunOptions): Promise<Trace>;
}

export interface ReadRunOptions {
  /** Reads a damaged file as far as possible. */
  readonly damaged?: "keep";
  readonly signal?: AbortSignal;
  /** Called with the number of bytes read. */
  readonly onProgress?: (bytes: number) => void;
}

/** Imports a graph, which `remat plan` accepts. */
export interface GraphImporter extends ImporterFacts {
  readonly gives: "graph";
  /** Returns the file's content, which is not yet checked to be a valid graph. */
  read(path: string): Record<string, unknown>;
}

/** Imports the graphs of a compiled model, which have memory but are not a run. */
export interface CompiledImporter extends ImporterFacts {
  readonly gives: "compiled";
  read(path: string): Promise<FxGraphs>;
}

/** Imports a plan, which can be shown. */
export interface PlanImporter extends ImporterFacts {
  readonly gives: "plan";
  read(path: string): Plan;
}
