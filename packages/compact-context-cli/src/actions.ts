import { closest } from "compact-context/internal/config/schema";
import { CompactError } from "compact-context/internal/errors";
import { oneLine } from "./render/safe.ts";

/** What a command's first word asks for; throws `InvalidUsage` for a word that names none of its actions. */
export function actionNamed<Action>(
  actions: Readonly<Record<string, Action>>,
  name: string,
  command: string,
): Action {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action !== undefined) return action;
  const names = Object.keys(actions);
  const near = closest(name, names);
  throw new CompactError("InvalidUsage", `compact ${command} ${oneLine(name)}: there is no such action`, {
    hint: `${near === undefined ? "" : `Did you mean ${near}? `}Use ${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}.`,
  });
}
