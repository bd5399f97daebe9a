import { expect, test } from "vitest";
import { RematError, setErrorKind } from "../src/index.js";

class OwnError extends RematError {
  static {
    setErrorKind(this, "OwnError");
  }
}
class PlainError extends RematError {}

test("an error is named as its class, which is what is printed of it", () => {
  const made = [new RematError("A", "a"), new OwnError("A", "a"), new PlainError("A", "a")];
  expect(made.map(String)).toEqual(["RematError: a", "OwnError: a", "RematError: a"]);
});
