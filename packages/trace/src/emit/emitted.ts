declare const emittedFor: unique symbol;

/**
 * Text that was built for `Target` by this folder, so that no name in it can change what it means there. It is an ordinary string at run time. Only the builders make one:
 * the linter refuses type assertions to it.
 */
export type Emitted<Target extends string> = string & { readonly [emittedFor]: { readonly [Name in Target]: true } };

/** Lines that a terminal only shows: nothing in them but our own styles is obeyed. */
export type TerminalText = Emitted<"terminal">;
/** Python source. */
export type PythonCode = Emitted<"python" | "terminal">;
/** JavaScript source. */
export type JavaScriptCode = Emitted<"javascript" | "terminal">;
/** Words of a POSIX shell, to be copied into one. */
export type ShellCode = Emitted<"shell" | "terminal">;
/** GitHub's Markdown. */
export type MarkdownText = Emitted<"markdown" | "terminal">;
/** Comma-separated values. */
export type CsvText = Emitted<"csv" | "terminal">;
/** JSON. */
export type JsonText = Emitted<"json" | "terminal">;

/** Marks text as built for a target. Only the files of this folder call it. @internal */
export function asEmitted<Text extends Emitted<string>>(text: string): Text {
  return text as Text;
}
