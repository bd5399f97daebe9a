import type { EngineMethods } from "./answers.js";
import { Engine } from "./engine.js";
import type { Answer, Question } from "./serve.js";

/**
 * Starts an engine in a worker with the page's own code, so that nothing has to be fetched. If the browser does not
 * allow a worker, the engine runs in the page.
 */
export async function connectEngine(code: string): Promise<EngineMethods & { readonly isWorker: boolean }> {
  const worker = await startWorker(code);
  if (worker === undefined) return Object.assign(new Engine(), { isWorker: false });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  worker.onmessage = ({ data }: MessageEvent<Answer>) => {
    const question = waiting.get(data.id);
    waiting.delete(data.id);
    if ("error" in data) question?.reject(new Error(data.error));
    else question?.resolve(data.value);
  };
  worker.onerror = (event) => {
    for (const { reject } of waiting.values()) reject(new Error(event.message));
    waiting.clear();
  };
  const ask = (method: keyof EngineMethods, parameters: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, method, parameters } satisfies Question);
    });
  return new Proxy({ isWorker: true } as EngineMethods & { readonly isWorker: boolean }, {
    get: (target, method) =>
      method === "isWorker"
        ? target.isWorker
        : // Without `then` it is not a promise, so it can be returned from an async function.
          method === "then"
          ? undefined
          : (...parameters: readonly unknown[]) => ask(method as keyof EngineMethods, parameters),
  });
}

async function startWorker(code: string): Promise<Worker | undefined> {
  if (typeof Worker === "undefined") return undefined;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    const worker = new Worker(url);
    // Some browsers report a rejected worker of a local file only by an event.
    const isReady = await new Promise<boolean>((resolve) => {
      worker.onmessage = () => resolve(true);
      worker.onerror = (event) => {
        event.preventDefault();
        resolve(false);
      };
      worker.postMessage({ id: 0, method: "search", parameters: [""] } satisfies Question);
    });
    return isReady ? worker : undefined;
  } catch {
    return undefined;
  } finally {
    URL.revokeObjectURL(url);
  }
}
