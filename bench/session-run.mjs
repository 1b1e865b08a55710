// What one recorded session goes through: read, planned, compacted to two sizes, replayed call by call in a small
// window. The library is handed in, so that the tests run it on the sources and the report on the build.

/** Shares of the tokens before to which a session is compacted. */
export const SHARES = [0.25, 0.1];
export const REPLAY_WINDOW = 32_000;

/**
 * @param {object} library readTranscript, compact, planCompaction, CompactManager, countTokens, findMalformations
 * @param {string} name file name, for errors
 * @param {AsyncIterable<string> | string} chunks
 */
export async function runSession(library, name, chunks) {
  const transcript = await library.readTranscript(chunks, { name });
  const options = {
    ...(transcript.list === undefined ? {} : { format: transcript.list }),
    ...(transcript.model === undefined ? {} : { model: transcript.model }),
    ...(transcript.system === undefined ? {} : { system: transcript.system }),
    ...(transcript.tools === undefined ? {} : { tools: transcript.tools }),
  };
  const before = library.countTokens(transcript.messages, options).tokens;
  const faultsBefore = library.findMalformations(transcript.messages).length;
  const compactions = [];
  for (const share of SHARES) {
    const targetTokens = Math.max(1, Math.ceil(before * share));
    const limits = { ...options, maxTokens: before, targetTokens, onOverflow: "elide" };
    const plan = library.planCompaction(transcript.messages, limits);
    const result = await library.compact(transcript.messages, limits);
    compactions.push({
      share,
      tokens: library.countTokens(result.messages, options).tokens,
      target: targetTokens,
      budget: before,
      planned: plan.tokensAfter,
      faults: library.findMalformations(result.messages).length,
      pruned: result.report.prunedCount,
      cleared: result.report.clearedCount,
      elided: result.report.elidedCount,
      elapsedMs: result.report.elapsedMs,
      messages: result.messages.length,
      floor: floorOf(library, transcript, options),
    });
  }
  const replay = await replaySession(library, transcript, options);
  return {
    name,
    format: transcript.format,
    messages: transcript.messages.length,
    before,
    faultsBefore,
    problems: transcript.problems.length,
    compactions,
    replay,
  };
}

/** System prompt, tools and pinned messages: what no compaction may touch. */
function floorOf(library, transcript, options) {
  const pinned = transcript.messages.filter((message) => message.role === "system" || message.role === "developer");
  return library.countTokens(pinned, options).tokens;
}

async function replaySession(library, transcript, options) {
  const { system, tools, model, format } = options;
  const manager = new library.CompactManager(
    {
      ...(model === undefined ? {} : { model }),
      maxContextTokens: REPLAY_WINDOW,
      policy: { onOverflow: "elide" },
      storage: { kind: "memory" },
    },
    { onWarning: () => {} },
  );
  const request = {
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...(format === undefined ? {} : { format }),
  };
  const row = { calls: 0, rounds: 0, largest: 0, newFaults: 0, tokens: 0, cannotFit: 0 };
  for (const [number, segment] of transcript.segments.entries()) {
    const list = [];
    for (const message of segment.messages) {
      if (message.role === "assistant" && list.length > 0) {
        try {
          const { messages, report } = await manager.preflight(`${number}`, list, request);
          row.calls += 1;
          row.rounds += report.compacted ? 1 : 0;
          row.largest = Math.max(row.largest, manager.getState(`${number}`).totalTokens);
          if (report.compacted && library.findMalformations(messages).length > library.findMalformations(list).length) {
            row.newFaults += 1;
          }
        } catch (error) {
          if (error.code !== "InsufficientBudget") throw error;
          row.cannotFit += 1;
        }
      }
      list.push(message);
    }
    row.tokens += library.countTokens(list, options).tokens;
  }
  return row;
}
