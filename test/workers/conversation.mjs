/** The first turns of one conversation that never changes: two messages a turn, about 500 tokens together. */
export function conversation(turns) {
  return Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: `question ${turn} ${"word ".repeat(220)}` },
    { role: "assistant", content: `answer ${turn} ${"text ".repeat(220)}` },
  ]).flat();
}
