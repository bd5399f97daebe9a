import { RematError } from "@remat/trace";
import * as v from "valibot";

/**
 * Returns `value` if it has the shape of `schema`.
 *
 * @param what the value is, for the message
 * @throws RematError with `code`, naming the first field that is wrong, what was expected of it and what was found
 * @internal
 */
export function checkSchema<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  { code, what }: { readonly code: string; readonly what: string },
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  // The value itself, whose fields keep their order: the table of a fleet is that of one machine to the byte.
  if (result.success) return value as v.InferOutput<Schema>;
  const [issue] = result.issues;
  throw new RematError(code, `${what}: ${describeIssue(issue)}.`);
}

/** A value from elsewhere is cut short in a message. */
const mostCharacters = 60;

/** @internal */
export function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  const found = issue.received.slice(0, mostCharacters);
  const expected = issue.expected === null ? issue.message : `expected ${issue.expected}, found ${found}`;
  return path === null ? expected : `field '${path}': ${expected}`;
}
