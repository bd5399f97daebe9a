/** True in `.ci/nightly` (`REMAT_ALL_TESTS`), which runs all that a change runs samples of. */
export const atNight: boolean = process.env["REMAT_ALL_TESTS"] !== undefined;
