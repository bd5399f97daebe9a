import type { CompletedCommand } from "./completed-command.js";

/** Returns a script for bash, which needs nothing beside bash 3.2: no bash-completion, and no process when Tab is pressed. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# bash completion for remat, written by: remat completion bash
_remat() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= word i words= flags=
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      ${commands.map(({ name }) => name).join("|")}) command=$word; break ;;
    esac
  done
  # Of --option=value, bash makes three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  case $command,$prev in
${commands.flatMap(valueCases).join("\n")}
  esac
  case $command in
    '') words='${commands.map(({ name }) => name).join(" ")}'; flags='--help --version --color --width --config --no-config' ;;
${commands.map(wordCase).join("\n")}
  esac
  if [[ $cur == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -o bashdefault -F _remat remat
`;
}

/** What an option's value may be. */
function valueCases({ name, options }: CompletedCommand): readonly string[] {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ flags, choices }) => {
      const patterns = flags.map((flag) => `${name},${flag}`).join("|");
      const complete = choices.length === 0 ? "" : ` COMPREPLY=($(compgen -W '${choices.join(" ")}' -- "$cur"));`;
      return `    ${patterns})${complete} return ;;`;
    });
}

function wordCase({ name, words, options }: CompletedCommand): string {
  const flags = options.flatMap((option) => option.flags.filter((flag) => flag.startsWith("--")));
  return `    ${name}) words='${(words ?? []).join(" ")}'; flags='${flags.join(" ")}' ;;`;
}
