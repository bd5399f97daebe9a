/**
 * Returns how many cases a property with slow cases checks: a third of those that are checked at night
 * (`REMAT_ALL_TESTS`), so that each change runs a sample.
 */
export function dailyRuns(atNight: number): number {
  return process.env["REMAT_ALL_TESTS"] !== undefined ? atNight : Math.ceil(atNight / 3);
}
