import { type ShellCode, shell } from "@remat/trace/emit";
import type { CompletedCommand, CompletedOption } from "./completed-command.js";

/** Returns a script for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): ShellCode {
  const lines = commands.flatMap(({ name, purpose, words, options }) => {
    const within = shell`-n ${shell.fishWord(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      shell`complete -c remat -n __fish_use_subcommand -f -a ${shell.word(name)} -d ${shell.fishWord(purpose)}`,
      ...(words === undefined ? [] : [shell`complete -c remat ${within} -f -a ${shell.fishWord(words.join(" "))}`]),
      ...options.map((option) => shell`complete -c remat ${within} ${optionWords(option)}`),
    ];
  });
  return shell`# fish completion for remat, written by: remat completion fish\n${shell.lines(lines)}\n`;
}

function optionWords({ flags, purpose, takesValue, choices }: CompletedOption): ShellCode {
  const names = flags
    .toReversed()
    .map((flag) =>
      flag.startsWith("--") ? shell`-l ${shell.word(flag.slice(2))}` : shell`-s ${shell.word(flag.slice(1))}`,
    );
  const value = !takesValue
    ? []
    : choices.length === 0
      ? [shell`-r`]
      : [shell`-x`, shell`-a ${shell.fishWord(choices.join(" "))}`];
  return shell.join([...names, ...value, shell`-d ${shell.fishWord(purpose)}`]);
}
