import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { CompactError, createKeyedMutex } from "../errors.ts";
import { CLAIM_LEASE_MS, type ClaimOwner, takeClaim } from "../memory/files/claim.ts";

/** The right of one agent to write a channel's session. */
export interface ChannelHold {
  /** Runs a write; rejects with `Conflict`, nothing written, where the channel is another agent's by now, or given back. */
  write(work: () => Promise<void>): Promise<void>;
  /** Shows other machines that the agent is at work until it is called off; rejects for the same reason as `write`. */
  atWork(): Promise<() => void>;
  release(): Promise<void>;
}

const HOLD_FILE = "agent.lock";

/** Writes and takings of a channel in this process: who takes it from an agent waits for the write under way. */
const inTurn = createKeyedMutex();

/**
 * Takes a channel for an agent of this process: from nobody, from an earlier agent of the same process, which writes no
 * more then, or from a process that has ended. Rejects with `Conflict` where another process has it.
 */
export async function holdChannel(channelDir: string): Promise<ChannelHold> {
  const path = join(await realpath(channelDir), HOLD_FILE);
  const taken = await inTurn(path, () => takeClaim(path, { fromItself: true }));
  if ("owner" in taken) throw heldElsewhere(channelDir, taken.owner);
  const { claim } = taken;
  let released = false;
  const requireOwn = async (): Promise<void> => {
    if (released) throw givenBack(channelDir);
    if (!(await claim.renew())) throw takenOver(channelDir);
  };
  return {
    write: (work) =>
      inTurn(path, async () => {
        await requireOwn();
        await work();
      }),
    async atWork() {
      await inTurn(path, requireOwn).catch((error: unknown) => {
        // A disk that fails ends no work: what cannot be written is told where it is written.
        if (CompactError.isInstance(error)) throw error;
      });
      return claim.keep();
    },
    release: () =>
      inTurn(path, async () => {
        released = true;
        await claim.release();
      }),
  };
}

function heldElsewhere(channelDir: string, { pid, onThisMachine }: ClaimOwner): CompactError {
  const where = onThisMachine ? `process ${pid}` : `process ${pid} of another machine`;
  const seconds = CLAIM_LEASE_MS / 1000;
  const wait = onThisMachine ? "" : ` One that has ended there lets go within ${seconds} seconds.`;
  return new CompactError("Conflict", `another agent (${where}) has this channel open`, {
    place: channelDir,
    hint: `Close that one first, or use another channel folder (compact chat: --channel).${wait}`,
  });
}

function takenOver(channelDir: string): CompactError {
  return new CompactError("Conflict", "this channel is another agent's by now, or its lock was removed", {
    place: channelDir,
    hint: "Go on with that one, or close it and create an agent again.",
  });
}

function givenBack(channelDir: string): CompactError {
  return new CompactError("Conflict", "this agent was closed, and its channel given back", {
    place: channelDir,
    hint: "Create an agent again: it goes on with the session.",
  });
}
