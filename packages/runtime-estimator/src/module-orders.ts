import { EventKind, Phase, type Trace } from "@remat/trace";

/** FQNs of the modules in the order in which their calls begin (pre) and end (post); a module called twice is there twice. */
export interface ModuleOrders {
  readonly modFwPreOrder: readonly string[];
  readonly modFwPostOrder: readonly string[];
  readonly modBwPreOrder: readonly string[];
  readonly modBwPostOrder: readonly string[];
}

/**
 * Returns execution orders from the module events of `trace`. A forward call that is recomputed for checkpointing counts as a forward call, as
 * in PyTorch, whose hooks cannot tell.
 *
 * @example
 * moduleOrders(trace).modFwPreOrder; // ["Net", "Net.a", "Net.b"]
 */
export function moduleOrders(trace: Trace): ModuleOrders {
  const modFwPreOrder: string[] = [];
  const modFwPostOrder: string[] = [];
  const modBwPreOrder: string[] = [];
  const modBwPostOrder: string[] = [];
  const { events, moduleEvents } = trace;
  for (let i = 0; i < events.count; i++) {
    const kind = events.kind[i];
    if (kind !== EventKind.enterModule && kind !== EventKind.exitModule) continue;
    const event = events.subject[i];
    const { fqn } = trace.modules[trace.calls.module[moduleEvents.call[event]]];
    const backward = moduleEvents.phase[event] === Phase.backward;
    if (kind === EventKind.enterModule) (backward ? modBwPreOrder : modFwPreOrder).push(fqn);
    else (backward ? modBwPostOrder : modFwPostOrder).push(fqn);
  }
  return { modFwPreOrder, modFwPostOrder, modBwPreOrder, modBwPostOrder };
}
