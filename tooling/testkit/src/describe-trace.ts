import { categoryNames, EventKind, phaseNames, row, savedAsNames, type Trace } from "@remat/trace";

const kinds = Object.fromEntries(Object.entries(EventKind).map(([name, kind]) => [kind, name]));

/**
 * Writes a trace as text, one line per event, for tests that compare all of it. Storages are `s0`, `s1`, …. A tensor is
 * shown as its storage, a module call as FQN and number.
 *
 * @example
 * describeTrace(trace); // ["+s0 400 B input", "+s1 400 B activation", "op 0 Relu(s0) = s1 forward", "-s0"]
 */
export function describeTrace(trace: Trace): string[] {
  const { events, storages, moduleEvents, saves } = trace;
  const lines: string[] = [];
  for (let i = 0; i < events.count; i++) {
    const subject = events.subject[i];
    switch (events.kind[i]) {
      case EventKind.allocate:
        lines.push(`+s${subject} ${storages.bytes[subject]} B ${categoryNames[storages.category[subject]]}`);
        break;
      case EventKind.free:
        lines.push(`-s${subject}`);
        break;
      case EventKind.resize:
        lines.push(`s${subject} is ${events.value[i]} B`);
        break;
      case EventKind.categorize:
        lines.push(`s${subject} is ${categoryNames[events.value[i]]}`);
        break;
      case EventKind.op:
        lines.push(opLine(trace, subject));
        break;
      case EventKind.enterModule:
      case EventKind.exitModule: {
        const way = events.kind[i] === EventKind.enterModule ? ">" : "<";
        const phase = phaseNames[moduleEvents.phase[subject]];
        const tensors = viewsOf(trace, row(moduleEvents.tensors, subject));
        lines.push(`${way} ${callName(trace, moduleEvents.call[subject])} ${phase} (${tensors})`);
        break;
      }
      case EventKind.save: {
        const op = saves.op[subject];
        lines.push(`save s${saves.storage[subject]} ${savedAsNames[saves.as[subject]]}${op < 0 ? "" : ` of op ${op}`}`);
        break;
      }
      case EventKind.enterScope:
        lines.push(`{ ${trace.scopes[subject].name}`);
        break;
      case EventKind.exitScope:
        lines.push(`} ${trace.scopes[subject].name}`);
        break;
      case EventKind.mark:
        lines.push(`mark ${trace.strings[subject]}`);
        break;
      default:
        lines.push(`${kinds[events.kind[i]]} ${subject} ${events.value[i]}`);
    }
  }
  return lines;
}

function opLine(trace: Trace, op: number): string {
  const { phase, forwardOp, forwardScope, scope } = trace.ops;
  const calls = trace.opCalls(op);
  const parts = [
    `op ${op} ${trace.opName(op)}(${viewsOf(trace, trace.opInputs(op))}) = ${viewsOf(trace, trace.opOutputs(op))}`,
    phaseNames[phase[op]],
  ];
  if (forwardOp[op] >= 0) parts.push(`of op ${forwardOp[op]}`);
  if (forwardScope[op] >= 0) parts.push(`of ${trace.scopes[forwardScope[op]].name}`);
  if (scope[op] >= 0) parts.push(`in ${trace.scopes[scope[op]].name}`);
  if (calls.length > 0) parts.push(`@ ${callName(trace, calls[calls.length - 1])}`);
  return parts.join(" ");
}

/** `model.block.conv`, with its number from the second call on: `model.block.conv#1`. */
function callName({ calls, modules }: Trace, call: number): string {
  const { fqn } = modules[calls.module[call]];
  return calls.number[call] === 0 ? fqn : `${fqn}#${calls.number[call]}`;
}

const viewsOf = (trace: Trace, tensors: ArrayLike<number>): string =>
  Array.from(tensors, (tensor) =>
    trace
      .tensorStorages(tensor)
      .map((storage) => `s${storage}`)
      .join("+"),
  ).join(",");
