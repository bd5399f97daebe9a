import { type ShellCode, shell } from "@remat/trace/emit";
import type { CompletedCommand, CompletedOption } from "./completed-command.js";

/** Returns a completion script for zsh: a file \`_remat\` in its \`fpath\`, or sourced after \`compinit\`. */
export function zshCompletion(commands: readonly CompletedCommand[]): ShellCode {
  const described = commands.map(
    ({ name, purpose }) => shell`    ${shell.word(`${name}:${purpose.replaceAll(":", "\\:")}`)}`,
  );
  return shell`#compdef remat
# zsh completion for remat, written by: remat completion zsh
_remat() {
  local -a commands
  commands=(
${shell.lines(described)}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${shell.lines(commands.map(commandCase))}
  esac
}
if [ "$funcstack[1]" = _remat ]; then _remat "$@"; else compdef _remat remat; fi
`;
}

function commandCase({ name, words, options }: CompletedCommand): ShellCode {
  const rest = words === undefined ? "*:file:_files" : `*:${name}:(${words.join(" ")})`;
  const specifications = [...options.flatMap(argumentsOf), rest].map((text) => shell`${shell.word(text)}`);
  return shell`    ${shell.word(name)}) _arguments ${shell.join(specifications)} ;;`;
}

/** In the syntax of zsh's `_arguments`. */
function argumentsOf({ flags, purpose, takesValue, choices }: CompletedOption): readonly string[] {
  const safe = purpose.replaceAll(/[[\]:]/g, "\\$&");
  const value = !takesValue ? "" : choices.length === 0 ? ":value:_files" : `:value:(${choices.join(" ")})`;
  return flags.map((flag) => `${flag}${takesValue ? (flag.startsWith("--") ? "=" : "+") : ""}[${safe}]${value}`);
}
