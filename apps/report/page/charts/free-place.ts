import { type Box, type TimelineScene, timelineMargin } from "./timeline-scene.js";

/** Distance between candidate positions. */
const stepPixels = 4;
/** Free space around a label. */
const room = 3;

/**
 * Returns the position from the left edge of the chart, as far right as possible, where a label of that size fits
 * within these rows. It does not overlap lines of the chart, marks, or the boxes in `taken`. Undefined if there is no
 * such position.
 */
export function freePlace(
  scene: TimelineScene,
  { top, width, height }: Omit<Box, "left">,
  taken: readonly Box[] = [],
): number | undefined {
  const { left, right, top: plotTop, bottom } = timelineMargin;
  const { sample, overlays, marks, maximumBytes } = scene;
  const plotWidth = scene.width - left - right;
  const plotHeight = scene.height - plotTop - bottom;
  if (top < plotTop || top + height > plotTop + plotHeight) return undefined;
  const bytesAt = (y: number): number => maximumBytes * (1 - (y - plotTop) / plotHeight);
  const [low, high] = [bytesAt(top + height + room), bytesAt(top - room)];
  const lines = [sample.highestBytes, ...overlays.map(({ bytes }) => bytes)];
  const isFree = (x: number): boolean => {
    const from = Math.max(0, Math.floor(((x - room - left) / plotWidth) * sample.count));
    const to = Math.min(sample.count - 1, Math.ceil(((x + width + room - left) / plotWidth) * sample.count));
    for (const bytes of lines) {
      // A line connects successive values, so it misses the box if all of them are on one side.
      let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
      for (let i = from; i <= to; i++) {
        if (bytes[i] < least) least = bytes[i];
        if (bytes[i] > most) most = bytes[i];
      }
      if (least <= high && most >= low) return false;
    }
    const isCrossed = marks.some(({ at }) => {
      const mark = left + at * plotWidth;
      return at >= 0 && at <= 1 && mark > x - room && mark < x + width + room;
    });
    return (
      !isCrossed &&
      taken.every(
        (box) =>
          box.left + box.width < x || box.left > x + width || box.top + box.height < top || box.top > top + height,
      )
    );
  };
  for (let x = left + plotWidth - width; x >= left; x -= stepPixels) if (isFree(x)) return x;
  return undefined;
}
