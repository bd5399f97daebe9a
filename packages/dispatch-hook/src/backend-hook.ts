import { rememberKernels } from "@remat/backends";
import type { EngineBackend } from "./engine-internals.js";

import type { Session } from "./session.js";

/** Watches the data of every backend that is there, and of each that is set while a mode is open. @internal */
export function patchBackends(session: Session): void {
  const { engine, patches, storages, modes } = session;
  const attach = () => {
    if (!session.alive) return;
    for (const [name, backend] of Object.entries(engine.registry)) {
      storages.attach(name, backend as EngineBackend, patches);
      rememberKernels(name);
    }
  };
  attach();
  patches.patch(engine, "setBackend", (original) => (name) => {
    for (const open of modes.listeners("backendChanging")) if (modes.isInside(open)) open.mode.backendChanging(name);
    const done = original.call(engine, name);
    // A backend that starts synchronously is in place before the promise is.
    attach();
    done.then(attach, () => {});
    return done;
  });
}
