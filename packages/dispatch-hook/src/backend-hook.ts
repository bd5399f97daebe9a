import { rememberKernels } from "./backends/first-seen-kernels.js";
import { bufferBackend } from "./current-backend.js";
import type { EngineBackend } from "./engine-internals.js";
import type { Session } from "./session.js";

/** A backend whose kernels compute in JavaScript what is small and has not come to the device yet. */
interface HandsToHost {
  shouldExecuteOnCPU(...args: unknown[]): boolean;
}

/** Notes when that is done: the device would give other bits. So what is replayed runs on the device, as it did. */
function watchHostRuns(session: Session, instance: Partial<HandsToHost>): void {
  if (instance.shouldExecuteOnCPU === undefined || session.watchesHostRunsOf.has(instance)) return;
  session.watchesHostRunsOf.add(instance);
  session.patches.patch(instance as HandsToHost, "shouldExecuteOnCPU", (original) => (...args) => {
    if (session.replaying !== undefined) return false;
    const isOnHost = original.apply(instance, args);
    if (isOnHost) session.kernel.hasRunOnHost = true;
    return isOnHost;
  });
}

type RunsPrograms = Record<string, (program: object, ...rest: unknown[]) => unknown>;

/** Notes when a program adds in whichever order its threads come. */
function watchPrograms(session: Session, name: string, instance: EngineBackend): void {
  const { programs } = bufferBackend(name, instance);
  if (programs === undefined || session.watchesProgramsOf.has(instance)) return;
  session.watchesProgramsOf.add(instance);
  session.patches.patch(instance as unknown as RunsPrograms, programs.runBy, (original) => (program, ...rest) => {
    if (programs.addsInAnyOrder(program)) session.kernel.hasAddedInAnyOrder = true;
    return original.call(instance, program, ...rest);
  });
}

/** Watches the data of every backend that is there, and of each that is set while a mode is open. @internal */
export function patchBackends(session: Session): void {
  const { engine, patches, storages, modes } = session;
  const attach = () => {
    if (!session.alive) return;
    for (const [name, backend] of Object.entries(engine.registry)) {
      storages.attach(name, backend as EngineBackend, patches);
      watchHostRuns(session, backend as EngineBackend & Partial<HandsToHost>);
      watchPrograms(session, name, backend as EngineBackend);
      rememberKernels(name);
    }
  };
  attach();
  patches.patch(engine, "setBackend", (original) => (name) => {
    for (const open of modes.listeners("backendChanging")) if (modes.isInside(open)) open.mode.backendChanging(name);
    const done = original.call(engine, name);
    attach();
    return done;
  });
  // A backend that starts asynchronously is in place now. Whether anybody handles a rejection of `setBackend` is the program's affair.
  patches.patch(engine, "setupRegisteredKernels", (original) => () => {
    attach();
    original.call(engine);
  });
}
