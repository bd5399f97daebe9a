declare const emittedFor: unique symbol;

/**
 * Text for `Target` that the functions in this folder build. No name in the text can act as code or markup in the
 * target. At run time it is an ordinary string. Only the builders create it: the linter rejects type assertions to it.
 */
export type Emitted<Target extends string> = string & { readonly [emittedFor]: { readonly [Name in Target]: true } };

/** Lines for a terminal. The only escape sequences in them are remat's own styles. */
export type TerminalText = Emitted<"terminal">;
/** Python source. */
export type PythonCode = Emitted<"python" | "terminal">;
/** JavaScript source. */
export type JavaScriptCode = Emitted<"javascript" | "terminal">;
/** Words for a POSIX shell, ready to be pasted into one. */
export type ShellCode = Emitted<"shell" | "terminal">;
/** GitHub's Markdown. */
export type MarkdownText = Emitted<"markdown" | "terminal">;
/** Comma-separated values. */
export type CsvText = Emitted<"csv" | "terminal">;
/** JSON. */
export type JsonText = Emitted<"json" | "terminal">;

/** Marks text as built for a target. Only the files in this folder call it. @internal */
export function asEmitted<Text extends Emitted<string>>(text: string): Text {
  return text as Text;
}
