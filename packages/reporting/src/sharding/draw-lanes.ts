import type { StreamLane, StreamSchedule } from "@remat/sharding";

/**
 * Draws a line for each stream of a rank that shows when it is busy. A character is `█` if the stream is busy for more
 * than half of the character's time, `▒` if it is busy for less, and `·` if compute waits for another stream most of
 * the time. Idle streams are left out.
 *
 * @param width characters per timeline
 */
export function drawLanes({ lanes, totalMs }: StreamSchedule, width: number): readonly string[] {
  const busy = lanes.filter(({ spans }) => spans.length > 0);
  const label = Math.max(...busy.map(({ name }) => name.length));
  return busy.map((lane) => `${lane.name.padEnd(label)}  ${drawLane(lane, totalMs, width)}`);
}

function drawLane({ spans }: StreamLane, totalMs: number, width: number): string {
  const working = new Float64Array(width);
  const waiting = new Float64Array(width);
  for (const { startMs, endMs, waits } of spans) {
    const from = (startMs / totalMs) * width;
    const to = (endMs / totalMs) * width;
    for (let at = Math.floor(from); at < Math.min(width, Math.ceil(to)); at++)
      (waits ? waiting : working)[at] += Math.min(to, at + 1) - Math.max(from, at);
  }
  return Array.from(working, (share, at) => (waiting[at] > 0.5 ? "·" : share > 0.5 ? "█" : share > 0 ? "▒" : " "))
    .join("")
    .trimEnd();
}
