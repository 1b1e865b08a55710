import type { TextModel } from "compact-context";
import type { ChannelMemoryOptions } from "compact-context/memory";

/** Answers in a row that were of no use to the memory, after which it asks for no more. */
const MOST_UNUSABLE = 2;

/** How the memory tells that a program did what the model was asked for. */
const NOT_TAKEN = /: the model's answer was not taken\b/;

const GIVEN_UP =
  "the model's answers are of no use for the memory's notes: the program writes them for the rest of this chat, without asking it (memory.use_model: false does so from the start)";

/**
 * The chat's model as its memory asks it. A model whose answers are never what is asked for costs two requests each time:
 * after two such answers in a row it is not asked again, which is told once. One that is out of reach may come back.
 */
export function createNotesModel(
  asked: TextModel,
  tell: (message: string) => void,
): Required<Pick<ChannelMemoryOptions, "model" | "onWarning" | "onTask">> {
  let unusable = 0;
  let hasAnswered = false;
  const isGivenUp = (): boolean => unusable >= MOST_UNUSABLE;
  return {
    model: {
      ...asked,
      async generate(request) {
        if (isGivenUp()) throw new Error(GIVEN_UP);
        const answer = await asked.generate(request);
        hasAnswered = true;
        return answer;
      },
    },
    onWarning(message) {
      if (!NOT_TAKEN.test(message)) return tell(message);
      if (isGivenUp()) return;
      if (hasAnswered) unusable += 1;
      tell(isGivenUp() ? GIVEN_UP : message);
    },
    onTask({ by }) {
      hasAnswered = false;
      if (by === "model") unusable = 0;
    },
  };
}
