import { SESSION_SECTIONS } from "../session-sections.ts";
import { CHANNEL_FILES, WORKSPACE_FILES } from "./names.ts";

const page = (...blocks: readonly string[]): string => `${blocks.join("\n\n")}\n`;
const section = (heading: string, note: string): string => `${heading}\n\n<!-- ${note} -->`;

/** What a channel's files say before anything is known: headings, and comments that are never recalled. */
export const CHANNEL_TEMPLATES: Readonly<Record<string, string>> = {
  [CHANNEL_FILES.memory]: page(
    "# Channel memory",
    section("## Constraints", "What must hold in this channel from now on."),
    section("## Decisions", "What was decided, when and why."),
    section("## Open loops", "What is promised or waited for."),
    section("## Facts", "What else is worth knowing next month."),
  ),
  [CHANNEL_FILES.session]: page(
    ...SESSION_SECTIONS.map(({ heading, note }) => section(`# ${heading}`, note)),
  ),
  [CHANNEL_FILES.history]: page(
    "# Channel history",
    "<!-- Older work, one dated section each, newest last. -->",
  ),
  [CHANNEL_FILES.log]: "",
  [CHANNEL_FILES.context]: "",
};

/** First versions of the files that people keep; never written again. */
export const WORKSPACE_TEMPLATES: Readonly<Record<string, string>> = {
  [WORKSPACE_FILES.soul]: page("# Soul", "<!-- Who the agent is: its voice, its values. Kept by people. -->"),
  [WORKSPACE_FILES.agents]: page(
    "# Agents",
    "<!-- How to work in this workspace: rules, tools, habits. Kept by people. -->",
  ),
  [WORKSPACE_FILES.memory]: page(
    "# Workspace memory",
    "<!-- What holds in every channel. Kept by people. -->",
  ),
};
