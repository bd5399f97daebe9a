import { type Command, type CommandEntry, defineCommand } from "../command.js";
import { bashCompletion } from "../completion/bash-completion.js";
import { completedCommands } from "../completion/completed-command.js";
import { fishCompletion } from "../completion/fish-completion.js";
import { zshCompletion } from "../completion/zsh-completion.js";
import { quote, UsageError } from "../usage-error.js";

const writers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const shells = Object.keys(writers) as (keyof typeof writers)[];

/** `remat completion` for these commands. */
export const completionOf = (commands: readonly CommandEntry[]): Command =>
  defineCommand({
    options: [],
    words: shells,
    examples: [
      "remat completion bash > ~/.local/share/bash-completion/completions/remat",
      "remat completion zsh > ~/.zfunc/_remat      # with fpath+=~/.zfunc before compinit",
      "remat completion fish > ~/.config/fish/completions/remat.fish",
    ],
    run: async ({ targets: [shell], io }) => {
      const known = shells.find((name) => name === shell);
      if (known === undefined)
        throw new UsageError(`completion for ${quote(shell)} is not supported. Choose one of ${shells.join(", ")}.`);
      io.stdout.write(writers[known](await completedCommands(commands)));
    },
  });
