import type { MemoryBands } from "@remat/reporting";
import type { EngineMethods, Overview } from "./answers.js";
import { Engine } from "./engine.js";

/** A question to the engine in a worker. */
export interface Question {
  readonly id: number;
  readonly method: keyof EngineMethods;
  readonly parameters: readonly unknown[];
}

/** Its answer: a value, or an error. */
export type Answer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string };

/** Makes an engine answer the messages of a worker's scope. */
export function serve(scope: DedicatedWorkerScope): void {
  const engine = new Engine();
  scope.onmessage = (event) => {
    const { id, method, parameters } = event.data as Question;
    const ask = engine[method] as (...parameters: readonly unknown[]) => Promise<unknown>;
    ask.apply(engine, parameters as unknown[]).then(
      (value) => scope.postMessage({ id, value } satisfies Answer, givenAway(method, value)),
      (error: unknown) => scope.postMessage({ id, error: (error as Error).message } satisfies Answer, []),
    );
  };
}

/** Arrays that the engine no longer needs are transferred to the page without a copy: bands, except for the totals. */
function givenAway(method: keyof EngineMethods, value: unknown): Transferable[] {
  const bandsOf = (bands: MemoryBands | undefined) => bands?.bands.map(({ bytes }) => bytes) ?? [];
  const columns: readonly Float64Array[] =
    method === "open"
      ? [...bandsOf((value as Overview).bands), ...(value as Overview).overlays]
      : method === "moduleBands"
        ? bandsOf(value as MemoryBands | undefined)
        : [];
  return columns.map(({ buffer }) => buffer as ArrayBuffer);
}

/** The parts of a worker's global scope that are used. */
export interface DedicatedWorkerScope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown, transfer: Transferable[]): void;
}
