import type { CategoryName, MemorySnapshot } from "@remat/trace";
import { formatInUnit, formatTable, type MemoryUnit, roundToUnit } from "@remat/trace/text";

type Labels = Readonly<Record<CategoryName, string>>;

/**
 * Formats a snapshot like PyTorch's `display_snapshot`. Devices with less than a hundredth of a unit are left out.
 * @internal
 */
export function displaySnapshot(
  snapshot: readonly MemorySnapshot[],
  labels: Labels,
  units: MemoryUnit,
  tabulate: boolean,
): string {
  if (snapshot.length === 0) return "No memory tracked.\n";
  if (!tabulate) return plain(snapshot, labels, units);
  const headers = ["Device", ...cellsOf(snapshot[0], labels, units).map(([label]) => label)];
  const rows = visible(snapshot, units).map((device) => [
    device.device,
    ...cellsOf(device, labels, units).map(([, cell]) => cell),
  ]);
  return `${formatTable(rows, { headers, format: "rst" })}\n`;
}

/** Formats the snapshots of one module by state and call. @internal */
export function displayStates<State extends string>(
  snapshots: ReadonlyMap<State, readonly (readonly MemorySnapshot[])[]>,
  stateLabels: Readonly<Record<State, string>>,
  labels: Labels,
  units: MemoryUnit,
  tabulate: boolean,
): string {
  if (tabulate) return `${stateTable(snapshots, stateLabels, labels, units)}\n`;
  let text = "";
  for (const [state, calls] of snapshots) {
    text += `${stateLabels[state]}\n`;
    calls.forEach((snapshot, i) => {
      text += `# ${i + 1}:\n${snapshot.length === 0 ? "No memory tracked.\n" : plain(snapshot, labels, units)}`;
    });
  }
  return `${text}\n`;
}

function stateTable<State extends string>(
  snapshots: ReadonlyMap<State, readonly (readonly MemorySnapshot[])[]>,
  stateLabels: Readonly<Record<State, string>>,
  labels: Labels,
  units: MemoryUnit,
): string {
  let headers: string[] | undefined;
  const rows: string[][] = [];
  let last = "";
  for (const [state, calls] of snapshots)
    calls.forEach((snapshot, i) => {
      const stateAndCall = `${stateLabels[state]} # ${i + 1}`;
      for (const device of visible(snapshot, units)) {
        const cells = cellsOf(device, labels, units);
        headers ??= ["State & Call", "Device", ...cells.map(([label]) => label)];
        rows.push([stateAndCall === last ? "" : stateAndCall, device.device, ...cells.map(([, cell]) => cell)]);
        last = stateAndCall;
      }
    });
  return headers === undefined ? "" : formatTable(rows, { headers, format: "rst" });
}

function plain(snapshot: readonly MemorySnapshot[], labels: Labels, units: MemoryUnit): string {
  let text = "";
  for (const device of visible(snapshot, units)) {
    text += `Device: ${device.device}\n`;
    for (const [label, cell] of cellsOf(device, labels, units)) text += `\t${label}: ${cell}\n`;
  }
  return text;
}

function visible(snapshot: readonly MemorySnapshot[], units: MemoryUnit): readonly MemorySnapshot[] {
  return snapshot.filter((device) => roundToUnit(device.totalBytes, units) > 0);
}

function cellsOf(device: MemorySnapshot, labels: Labels, units: MemoryUnit): (readonly [string, string])[] {
  const cells = Object.entries(device.bytesByCategory).map(
    ([name, bytes]) => [labels[name as CategoryName], formatInUnit(bytes, units)] as const,
  );
  return [...cells, ["Total", formatInUnit(device.totalBytes, units)]];
}
