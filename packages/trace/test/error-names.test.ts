import { expect, test } from "vitest";
import { RematError, setErrorKind } from "../src/index.js";

class OwnError extends RematError {
  static {
    setErrorKind(this, "OwnError");
  }
}
class PlainError extends RematError {}

test("an error is named as its class, which is what is printed of it", () => {
  const made = [new RematError("ARGUMENT", "a"), new OwnError("ARGUMENT", "a"), new PlainError("ARGUMENT", "a")];
  expect(made.map(String)).toEqual(["RematError: a", "OwnError: a", "RematError: a"]);
});
