import { rememberKernels } from "./backends/first-seen-kernels.js";
import { bufferBackend } from "./current-backend.js";
import type { EngineBackend } from "./engine-internals.js";
import type { Session } from "./session.js";

/** A backend whose kernels compute small data in JavaScript if it is not on the device yet. */
interface HandsToHost {
  shouldExecuteOnCPU(...args: unknown[]): boolean;
}

/**
 * Notes computations on the host, which the device would not reproduce bitwise. Replays run on the device, like the
 * original.
 */
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

/** Notes programs whose threads add in an unspecified order. */
function watchPrograms(session: Session, name: string, instance: EngineBackend): void {
  const { programs } = bufferBackend(name, instance);
  if (programs === undefined || session.watchesProgramsOf.has(instance)) return;
  session.watchesProgramsOf.add(instance);
  session.patches.patch(instance as unknown as RunsPrograms, programs.runBy, (original) => (program, ...rest) => {
    if (programs.addsInAnyOrder(program)) session.kernel.hasAddedInAnyOrder = true;
    return original.call(instance, program, ...rest);
  });
}

/** Watches the data of all existing backends, and of each backend set while a mode is open. @internal */
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
  // A backend that starts asynchronously is ready now. Handling a rejection of `setBackend` is up to the program.
  patches.patch(engine, "setupRegisteredKernels", (original) => () => {
    attach();
    original.call(engine);
  });
}
