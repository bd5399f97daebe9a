import { onTestFinished } from "vitest";

/**
 * Tests whether a case meets the condition of its assertion, and counts the answer. Narrows the type of its argument.
 */
export type Given = <T>(condition: T | undefined | false) => condition is T;

/**
 * Returns a function for properties whose assertion applies only under a condition. When the test ends, it fails if too
 * few of the cases met the condition. Otherwise a generator whose cases never meet it would pass.
 *
 * @param atLeast share of the cases that must meet the condition, from 0 to 1. If it is below half, say why in a
 * comment.
 * @example
 * test("a plan keeps its budget", async () => {
 *   const given = checkedShare();
 *   await fc.assert(
 *     fc.asyncProperty(graphs, async (graph) => {
 *       const { point } = await planSchedules(graph, { budgetBytes });
 *       if (!given(point)) return;
 *       expect(point.peakBytes).toBeLessThanOrEqual(budgetBytes);
 *     }),
 *   );
 * });
 */
export function checkedShare(atLeast = 0.5): Given {
  let cases = 0;
  let checked = 0;
  onTestFinished(({ task }) => {
    if (task.result?.state === "fail" || (checked > 0 && checked >= atLeast * cases)) return;
    throw new Error(
      `${checked} of ${cases} cases met the condition of this property, ` +
        `and at least ${Math.round(100 * atLeast)}% must. Change the generator so that more cases meet it.`,
    );
  });
  return <T>(condition: T | undefined | false): condition is T => {
    const isMet = condition !== undefined && condition !== false;
    cases++;
    if (isMet) checked++;
    return isMet;
  };
}
