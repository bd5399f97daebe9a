import { type ShellCode, shell } from "@remat/trace/emit";
import type { CompletedCommand } from "./completed-command.js";

/**
 * Returns a completion script for bash 3.2 or later. It does not need bash-completion, and starts no process when Tab
 * is pressed.
 */
export function bashCompletion(commands: readonly CompletedCommand[]): ShellCode {
  const names = commands.map(({ name }) => name);
  return shell`# bash completion for remat, written by: remat completion bash
_remat() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= word i words= flags=
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      ${shell.pattern(names)}) command=$word; break ;;
    esac
  done
  # Of --option=value, bash makes three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  case $command,$prev in
${shell.lines(commands.flatMap(valueCases))}
  esac
  case $command in
    '') words=${shell.word(names.join(" "))}; flags='--help --version --color --width --config --no-config' ;;
${shell.lines(commands.map(wordCase))}
  esac
  if [[ $cur == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -o bashdefault -F _remat remat
`;
}

/** Possible values of options. */
function valueCases({ name, options }: CompletedCommand): readonly ShellCode[] {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ flags, choices }) => {
      const patterns = shell.pattern(flags.map((flag) => `${name},${flag}`));
      return choices.length === 0
        ? shell`    ${patterns}) return ;;`
        : shell`    ${patterns}) COMPREPLY=($(compgen -W ${shell.word(choices.join(" "))} -- "$cur")); return ;;`;
    });
}

function wordCase({ name, words, options }: CompletedCommand): ShellCode {
  const flags = options.flatMap((option) => option.flags.filter((flag) => flag.startsWith("--")));
  return shell`    ${shell.word(name)}) words=${shell.word((words ?? []).join(" "))}; flags=${shell.word(flags.join(" "))} ;;`;
}
