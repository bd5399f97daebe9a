/** The only place where text for another language is built. */
export const emissionHome = "packages/trace/src/emit/";

/** Types of text that only builders create. */
export const builtTypes =
  /\b(?:Emitted|TerminalText|PythonCode|JavaScriptCode|ShellCode|MarkdownText|CsvText|JsonText|Html)\b/;

const commands =
  "remat (?:estimate|memory|plan|fit|check|compare|extrapolate|report|setup|doctor|run|record|watch|exec|leaks|explain|ui)|npx|npm (?:install|ls|exec)|pip3? install|python3? -m|node --?\\w+";

/**
 * Patterns of templates for a target language, with holes written as NUL, and the builder to use instead.
 *
 * @type {readonly { readonly builder: string, readonly looks: RegExp, readonly homes?: readonly string[] }[]}
 */
export const targets = [
  {
    builder: "html`…`",
    looks: /<!--|<!doctype|<\/[a-z][\w-]*>|<[a-z][\w-]*(?:\s+[\w:-]+="[^"]*"?)+\s*\/?>?|<\0|<\/\0/i,
  },
  { builder: "shell`…`", looks: new RegExp(`\\b(?:${commands})\\b[^.;:!?()\\n]*\\0`) },
  {
    builder: "python`…`",
    looks:
      /(?:^|\n)\s*(?:from [\w.]+ import |import [\w.]+\n|def \w+\(|class \w+[(:]|# )[^]*\0|(?:^|\n)\s*(?:def|class) \w*\0|\b(?:get_submodule|set_submodule|fully_shard)\(/,
    // Snapshots are numbered as in PyTorch.
    homes: ["packages/memory/src/tracker/display.ts"],
  },
  {
    builder: "javascript`…`",
    looks:
      /(?:^|\n)\s*(?:\/\/ |import .* from |export (?:default|const) |(?:const|let) \w+ = |await \w+[.(])[^]*\0|\b(?:require|import)\(["']?\0/,
  },
  {
    builder: "markdown.line, markdown.heading and the like",
    looks: /\]\(\0|(?:^|\n)#{2,6} \0|(?:^|\n)\| ?\0 ?\|/,
    // A table's cells are escaped before they are laid out.
    homes: ["packages/trace/src/text/format-table.ts"],
  },
  {
    builder: "terminal`…`",
    looks: /\u001b[^]*\0|\0[^]*\u001b/,
    // Screens are drawn from spans, whose texts are escaped when they are painted.
    homes: [
      "apps/terminal/src/text/",
      "apps/terminal/src/terminal/",
      "apps/cli/src/fit/matrix-screen.ts",
      "apps/cli/src/fit/prune-in-terminal.ts",
    ],
  },
];
