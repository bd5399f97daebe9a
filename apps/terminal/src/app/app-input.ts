import { useInput } from "ink";
import { useCallback } from "react";
import { type InputEvent, readInput } from "../terminal/read-input.js";

export interface AppInputProps {
  readonly onInput: (event: InputEvent) => void;
}

/** Hands on what Ink reads from the keyboard, and draws nothing: the frames are painted beside Ink, which would take each of them apart into characters. */
export function AppInput({ onInput }: AppInputProps): undefined {
  useInput(
    useCallback(
      (input, key) => {
        for (const event of readInput(input, key)) onInput(event);
      },
      [onInput],
    ),
  );
  return undefined;
}
