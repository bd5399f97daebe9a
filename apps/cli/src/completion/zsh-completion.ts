import type { CompletedCommand, CompletedOption } from "./completed-command.js";

/** Returns a script for zsh, to be a file \`_remat\` in its \`fpath\`, or sourced after \`compinit\`. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef remat
# zsh completion for remat, written by: remat completion zsh
_remat() {
  local -a commands
  commands=(
${commands.map(({ name, purpose }) => `    ${quoted(`${name}:${purpose.replaceAll(":", "\\:")}`)}`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(commandCase).join("\n")}
  esac
}
if [ "$funcstack[1]" = _remat ]; then _remat "$@"; else compdef _remat remat; fi
`;
}

function commandCase({ name, words, options }: CompletedCommand): string {
  const rest = words === undefined ? "'*:file:_files'" : `'*:${name}:(${words.join(" ")})'`;
  return `    ${name}) _arguments ${[...options.flatMap(argumentsOf), rest].join(" \\\n      ")} ;;`;
}

function argumentsOf({ flags, purpose, takesValue, choices }: CompletedOption): readonly string[] {
  const safe = purpose.replaceAll(/[[\]:]/g, "\\$&");
  const value = !takesValue ? "" : choices.length === 0 ? ":value:_files" : `:value:(${choices.join(" ")})`;
  return flags.map((flag) =>
    quoted(`${flag}${takesValue ? (flag.startsWith("--") ? "=" : "+") : ""}[${safe}]${value}`),
  );
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
