import type { FxGraphs } from "@remat/pytorch";
import type { Plan, Trace } from "@remat/trace";
import type { FileHead } from "./file-head.js";

/** What can be named in place of MODEL, and read: what a file of this folder exports, and `importers.ts` lists. */
export type Importer = ModelImporter | RunImporter | GraphImporter | CompiledImporter | PlanImporter;

/** What a file gives. */
export type SourceKind = Importer["gives"];

interface ImporterFacts {
  /** By which it is found again in another process. */
  readonly name: string;
  /** For help: what such a file is called, and what it is. */
  readonly example: string;
  readonly what: string;
  /** The end of such a file's name that does not belong to what it is a file of. */
  readonly ending: RegExp;
  /** Which files of a folder the terminal app offers, by name; left out: none. */
  readonly offered?: RegExp;
  /** Tells such a file from any other; importers that come later in the list are not asked then. */
  recognises(path: string, head: FileHead): boolean;
}

/** Of a model, of which steps can be traced and run. */
export interface ModelImporter extends ImporterFacts {
  readonly gives: "model";
  /** Whether its models have no training step, so that only commands with `--predict` take them. */
  readonly isForPrediction?: true;
  /** Whether its models can have layers of the user's own, and weights of another file. */
  readonly takesParts?: true;
  /**
   * Returns what makes the model (see `defineModel`). Loads neither the hook nor a backend, since stock steps need it, too.
   *
   * @throws RematError what its reading throws
   */
  load(path: string, parts: ModelParts): Promise<unknown>;
}

/** What a model is made of besides its file. */
export interface ModelParts {
  /** A module with layers that the model has besides those of its library. */
  readonly layers?: string | undefined;
  /** A file with weights, in place of the model's own. */
  readonly weights?: string | undefined;
  /** Whether the values of weights matter, as where steps run. */
  readonly readsWeights: boolean;
}

/** Of a recorded run. */
export interface RunImporter extends ImporterFacts {
  readonly gives: "run";
  read(path: string, options: ReadRunOptions): Promise<Trace>;
}

export interface ReadRunOptions {
  /** Reads a damaged file as far as that goes. */
  readonly damaged?: "keep";
  readonly signal?: AbortSignal;
  /** Told how many bytes are read. */
  readonly onProgress?: (bytes: number) => void;
}

/** Of a graph, which `remat plan` takes. */
export interface GraphImporter extends ImporterFacts {
  readonly gives: "graph";
  /** Returns the file's content, which may be no graph that can be planned. */
  read(path: string): Record<string, unknown>;
}

/** Of the graphs of a compiled model, which hold memory and are no run. */
export interface CompiledImporter extends ImporterFacts {
  readonly gives: "compiled";
  read(path: string): Promise<FxGraphs>;
}

/** Of a plan, which can be shown. */
export interface PlanImporter extends ImporterFacts {
  readonly gives: "plan";
  read(path: string): Plan;
}
