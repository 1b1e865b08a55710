import { bareTag, type Calls, type Condition, conditionOf, type Written } from "./call.ts";
import type { CompletedPart } from "./client.ts";

/** An object that is sent in parts and appears as a whole. */
export interface Upload {
  /** Parts are numbered from 1; all but the last have five million bytes or more. */
  part(number: number, bytes: Uint8Array): Promise<void>;
  finish(condition: Condition): Promise<Written>;
  /** Gives up; never rejects. */
  abandon(): Promise<void>;
}

/** Starts an upload; `settings` are those of the object to be. */
export async function startUpload(calls: Calls, name: string, settings: object): Promise<Upload> {
  const id = await calls.done(name, async ({ sdk, client }, target, abortSignal) => {
    const command = new sdk.CreateMultipartUploadCommand({ ...target, ...settings });
    return (await client.send(command, { abortSignal })).UploadId;
  });
  const parts: CompletedPart[] = [];
  return {
    async part(PartNumber, Body) {
      const ETag = await calls.done(name, async ({ sdk, client }, target, abortSignal) => {
        const input = { ...target, UploadId: id, PartNumber, Body };
        return (await client.send(new sdk.UploadPartCommand(input), { abortSignal })).ETag;
      });
      parts.push({ PartNumber, ETag });
    },
    finish: (condition) =>
      calls.orRefused(name, async ({ sdk, client }, target, abortSignal) => {
        const whole = { ...target, UploadId: id, MultipartUpload: { Parts: parts } };
        const command = new sdk.CompleteMultipartUploadCommand({ ...whole, ...conditionOf(condition) });
        return bareTag((await client.send(command, { abortSignal })).ETag);
      }),
    async abandon() {
      await calls
        .done(name, ({ sdk, client }, target, abortSignal) =>
          client.send(new sdk.AbortMultipartUploadCommand({ ...target, UploadId: id }), { abortSignal }),
        )
        .catch(() => undefined);
    },
  };
}
