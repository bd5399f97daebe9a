import { useInput } from "ink";
import { useCallback } from "react";
import { type InputEvent, readInput } from "../terminal/read-input.js";

export interface AppInputProps {
  readonly onInput: (event: InputEvent) => void;
}

/**
 * Passes on keyboard input that Ink reads, and draws nothing. Frames are painted without Ink, which would process each
 * of them character by character.
 */
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
