import { buildChapters } from "./build.mjs";
import { changeChapters } from "./change.mjs";
import { closingChapters } from "./closing.mjs";
import { questionChapters } from "./questions.mjs";
import { understandChapters } from "./understand.mjs";

/** From the first question to an ask that nobody has answered yet; one chapter for each user message. */
export const story = [
  ...understandChapters,
  ...questionChapters,
  ...buildChapters,
  ...changeChapters,
  ...closingChapters,
];
