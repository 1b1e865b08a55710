import { describe, expect, it } from "vitest";
import { compactBeforeModel } from "../../../packages/compact-context/src/adapters/google-adk/index.ts";
import { recallTools } from "../../../packages/compact-context/src/recall/index.ts";
import { ANSWERS, createProvider, createWatched, interview, survey, WINDOW } from "../scripted-agent.ts";

// biome-ignore lint/suspicious/noExplicitAny: the SDK is loaded at run time
type Loose = any;

const adk: Loose = await import("@google/adk" as string).catch(() => undefined);

/** A model that the scripted provider speaks for. */
function scriptedModel(provider: ReturnType<typeof createProvider>): Loose {
  return new (class extends adk.BaseLlm {
    constructor() {
      super({ model: "gemini-2.5-flash" });
    }
    async *generateContentAsync({ contents, config }: Loose): AsyncGenerator<object> {
      const { text, calls } = provider.answer(contents, config.systemInstruction);
      const said = text === "" ? [] : [{ text }];
      const called = calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }));
      yield { content: { role: "model", parts: [...said, ...called] } };
    }
    connect(): never {
      throw new Error("the test has no live connection");
    }
  })();
}

const number = { type: "NUMBER" };

describe.skipIf(adk === undefined)("compactBeforeModel in the Agent Development Kit", () => {
  it("INT-3 carries a session over three windows, every fact in context or recalled, the session's events complete", async () => {
    const { manager, compactions } = createWatched();
    const provider = createProvider({
      format: "gemini",
      recall: (query) => ({ name: "compact_search", args: { query } }),
    });
    const recall = recallTools(manager, "one:surveyor");
    const agent = new adk.LlmAgent({
      name: "surveyor",
      model: scriptedModel(provider),
      instruction: "You survey quays and answer briefly.",
      beforeModelCallback: compactBeforeModel({ manager }),
      tools: [
        new adk.FunctionTool({
          name: "survey",
          description: "Looks at a quay.",
          parameters: {
            type: "OBJECT",
            properties: { quay: number, part: number },
            required: ["quay", "part"],
          },
          execute: survey,
        }),
        ...recall.map(
          ({ name, description, execute }) =>
            new adk.FunctionTool({
              name,
              description,
              parameters: { type: "OBJECT", properties: { query: { type: "STRING" } } },
              execute,
            }),
        ),
      ],
    });
    const runner = new adk.InMemoryRunner({ agent });
    const { appName, sessionService } = runner;
    const place = { appName, userId: "somebody", sessionId: "one" };
    await sessionService.createSession(place);
    const answers = await interview(async (text) => {
      let newest = "";
      const newMessage = { role: "user", parts: [{ text }] };
      for await (const event of runner.runAsync({ ...place, newMessage })) {
        if (event.errorCode !== undefined) throw new Error(`${event.errorCode}: ${event.errorMessage}`);
        newest = event.content?.parts?.map((part: Loose) => part.text ?? "").join("") || newest;
      }
      return newest;
    });
    expect(answers).toEqual(ANSWERS);
    expect(compactions()).toBeGreaterThanOrEqual(4);
    expect(provider.figures.largest).toBeLessThanOrEqual(WINDOW);
    const { events } = await sessionService.getSession(place);
    expect(JSON.stringify(events)).not.toContain("COMPACT-SUMMARY");
    expect(events.filter((event: Loose) => event.author === "user")).toHaveLength(34);
  });
});
