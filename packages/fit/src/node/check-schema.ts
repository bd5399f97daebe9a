import { type ErrorCode, RematError } from "@remat/trace";
import * as v from "valibot";

/**
 * Returns `value` if it has the shape of `schema`.
 *
 * @param what the name of the value in the message
 * @throws RematError with `code`. The message has the name of the first wrong field, the expected value and the found
 * value.
 * @internal
 */
export function checkSchema<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  { code, what }: { readonly code: ErrorCode; readonly what: string },
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  // The parsed copy could change the order of fields, and results of a fleet must equal those of one machine byte for
  // byte.
  if (result.success) return value as v.InferOutput<Schema>;
  const [issue] = result.issues;
  throw new RematError(code, `${what}: ${describeIssue(issue)}.`);
}

/** Values from elsewhere are cut short in messages. */
const mostCharacters = 60;

/**
 * Returns the description of an issue, with the field's name, the expected value and the found one.
 *
 * @internal
 */
function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  const found = issue.received.slice(0, mostCharacters);
  const expected = issue.expected === null ? issue.message : `expected ${issue.expected}, found ${found}`;
  return path === null ? expected : `field '${path}': ${expected}`;
}
