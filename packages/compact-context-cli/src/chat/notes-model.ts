import type { TextModel } from "compact-context";
import type { ChannelMemoryOptions } from "compact-context/memory";

/** Consecutive unusable answers after which the model is no longer asked. */
const MAX_UNUSABLE = 2;

/** The memory's warning that it used its built-in notes instead of the model's answer. */
const NOT_TAKEN = /: the model's answer was not taken\b/;

const DISABLED =
  "the model's answers cannot be used for the memory's notes: the program writes them for the rest of this chat without the model (memory.use_model: false does so from the start)";

/**
 * The chat's model for the notes of its memory. Each unusable answer costs two requests, so after two in a row the model
 * is no longer asked, with one warning. A model that cannot be reached is asked again.
 */
export function createNotesModel(
  model: TextModel,
  warn: (message: string) => void,
): Required<Pick<ChannelMemoryOptions, "model" | "onWarning" | "onTask">> {
  let unusable = 0;
  let hasAnswered = false;
  const isDisabled = (): boolean => unusable >= MAX_UNUSABLE;
  return {
    model: {
      ...model,
      async generate(request) {
        if (isDisabled()) throw new Error(DISABLED);
        const answer = await model.generate(request);
        hasAnswered = true;
        return answer;
      },
    },
    onWarning(message) {
      if (!NOT_TAKEN.test(message)) return warn(message);
      if (isDisabled()) return;
      if (hasAnswered) unusable += 1;
      warn(isDisabled() ? DISABLED : message);
    },
    onTask({ by }) {
      hasAnswered = false;
      if (by === "model") unusable = 0;
    },
  };
}
