/**
 * Parses JSON as files hold it: with a byte order mark before it, too, as editors on Windows write one.
 *
 * @throws SyntaxError as `JSON.parse`
 */
export const parseJsonText = (text: string): unknown => JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
