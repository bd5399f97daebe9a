/** A kernel call cannot be run by itself; the message says why. @internal */
export class CannotRun extends Error {
  override readonly name = "CannotRun";
}
