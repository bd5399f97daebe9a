import { EventKind, Phase, type Trace } from "@remat/trace";

/**
 * FQNs of modules in the order in which their calls begin (pre) and end (post). A module called twice appears twice.
 */
export interface ModuleOrders {
  /** Order in which forward calls begin. */
  readonly modFwPreOrder: readonly string[];
  /** Order in which forward calls end. */
  readonly modFwPostOrder: readonly string[];
  /** Order in which backward calls begin. */
  readonly modBwPreOrder: readonly string[];
  /** Order in which backward calls end. */
  readonly modBwPostOrder: readonly string[];
}

/**
 * Returns execution orders from the module events of `trace`. A recomputed forward call counts as a forward call, as in
 * PyTorch, whose hooks cannot distinguish them.
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
