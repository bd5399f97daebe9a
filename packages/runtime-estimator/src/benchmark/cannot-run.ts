/** Thrown if a kernel call cannot run in isolation. The message gives the reason. @internal */
export class CannotRun extends Error {
  override readonly name = "CannotRun";
}
