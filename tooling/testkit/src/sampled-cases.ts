/**
 * Returns every n-th case, from `offset` on, so that each change runs a sample. At night (`REMAT_ALL_TESTS`) it returns
 * all of them. Use it if each case takes long and tests the same code as its neighbours.
 */
export function sampledCases<Case>(cases: readonly Case[], n: number, offset = 0): Case[] {
  return cases.filter((_, i) => process.env["REMAT_ALL_TESTS"] !== undefined || (i + offset) % n === 0);
}
