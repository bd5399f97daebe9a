import type { CompletedCommand, CompletedOption } from "./completed-command.js";

/** Returns a script for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, purpose, words, options }) => {
    const within = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      `complete -c remat -n __fish_use_subcommand -f -a ${name} -d ${quoted(purpose)}`,
      ...(words === undefined ? [] : [`complete -c remat ${within} -f -a ${quoted(words.join(" "))}`]),
      ...options.map((option) => `complete -c remat ${within} ${optionWords(option)}`),
    ];
  });
  return `# fish completion for remat, written by: remat completion fish\n${lines.join("\n")}\n`;
}

function optionWords({ flags, purpose, takesValue, choices }: CompletedOption): string {
  const names = flags
    .toReversed()
    .map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const value = !takesValue ? [] : choices.length === 0 ? ["-r"] : ["-x", `-a ${quoted(choices.join(" "))}`];
  return [...names, ...value, `-d ${quoted(purpose)}`].join(" ");
}

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
